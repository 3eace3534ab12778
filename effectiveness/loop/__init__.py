"""The agent `loop` as it runs in its sandbox: a model, four tools, and skills that are read on demand.

    __main__     the start: where modules are found, and the job on standard input
    job          what the agent is told
    agent        the conversation: model, tools, model, ... until it ends
    skills       what is staged, as the model is told of it
    tools        the tools and their limits; `files` keeps them within the workspace

`skill_health.effectiveness.agents.loop` starts it and reads what it prints.
"""

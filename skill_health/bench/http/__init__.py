"""Asks a model over HTTP: conversations and completions, and a client that retries, is bounded and protects the key.

    messages     what is said: Conversation -> Outgoing (a protocol's request), its answer -> Completion
    endpoint     where it is said: base URL, key, limits; what the configuration may not ask for
    client       one call with its retries; `shared` gives one client to all routers of a server
    fetch, body  one request, its time and its size bounded; bytes -> JSON
    failures     what went wrong -> what to do about it; `waits` how long until the next try, `pacing` when to send
    scrub        the key and control characters out of everything that a server said

Nothing here knows about prompts, skills or rankings.
"""

# skill-health with what needs no agent: lint, hosts, the free routers and the page. Everything is held to the hashes of locks/.
#   docker build --tag skill-health . && docker run --rm --volume "$PWD:/skills:ro" skill-health lint
FROM python:3.13-slim
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends git > /dev/null && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN cd /source \
    && python -I -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r locks/build.txt -r locks/report.txt \
    && python -I -m pip install --no-cache-dir --disable-pip-version-check --no-deps --no-index --no-build-isolation . \
    && cd / && rm -rf /source \
    && git config --system --add safe.directory /skills \
    && useradd --create-home reader
USER reader
WORKDIR /skills
ENTRYPOINT ["skill-health"]

# A server of models that are mounted; nothing but /state and /tmp is ever written to:
#   docker build -t everylabel .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges -p 127.0.0.1:8000:8000 \
#       -v everylabel-state:/state -v ./models:/models:ro -v ./config:/config:ro everylabel
# /config has projects.toml (or Annif's projects.cfg: give another command) and keys.json (everylabel keys add).
# For a node of a Ray cluster: --build-arg EXTRAS=,ray (docs/cluster.md).
FROM python:3.12-slim AS built
ARG EXTRAS=
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/everylabel \
    && /opt/everylabel/bin/pip install --no-cache-dir -c constraints.txt ".[server,postgres,skos,files,catalogue$EXTRAS]"

FROM python:3.12-slim
# Of no version: the base image's Debian has one, with its repairs.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /state --shell /usr/sbin/nologin everylabel \
    && install -d -o everylabel -g everylabel -m 0750 /state
COPY --from=built /opt/everylabel /opt/everylabel
ENV PATH=/opt/everylabel/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/state/numba \
    EVERYLABEL_CACHE=/state/cache
USER 10001
WORKDIR /state
VOLUME ["/state"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["everylabel"]
CMD ["serve", "--config", "/config/projects.toml", "--keys", "/config/keys.json", "--state", "/state", "--host", "0.0.0.0", "--port", "8000"]

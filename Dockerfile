# One image for operator and runner. Its context is made by `make images` (scripts/images): the bundle, the libraries, Node.
# The base needs git and CA certificates; what it lacks is installed.
ARG BASE_IMAGE=debian:bookworm-slim
FROM $BASE_IMAGE

RUN if ! command -v git >/dev/null; then \
      apt-get update \
      && apt-get install -y --no-install-recommends ca-certificates git libstdc++6 openssh-client \
      && rm -rf /var/lib/apt/lists/*; \
    fi \
    && echo 'fairlead:x:10001:10001:fairlead:/tmp:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'fairlead:x:10001:' >> /etc/group

# What changes seldom comes first: a new release mostly moves the last layer alone.
COPY node /usr/local/bin/node
COPY libraries /app/
COPY app /app/

ENV NODE_ENV=production \
    NODE_OPTIONS="--enable-source-maps --max-semi-space-size=16" \
    HOME=/tmp
USER 10001:10001
WORKDIR /app
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["--help"]

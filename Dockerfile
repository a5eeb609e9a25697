# The images of Rollcall, each a target: `rollcall` (the command line and the services: `rollcall serve NAME`), `agent` (the agent of
# a member, alone), `embedded-hub` (a whole hub in one container).
FROM --platform=${BUILDPLATFORM:-linux} node:24-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --ignore-scripts && npm run build && mv dist/agent-image /agent-image \
    && cd dist && rm -rf node_modules && npm ci --omit=dev --ignore-scripts && find . -name '*.map' -delete
# A command by its name, for who looks into a container.
RUN mkdir /bin-of-app && printf '#!/nodejs/bin/node\nimport("/app/cli/main.js");\n' > /bin-of-app/rollcall && chmod 755 /bin-of-app/rollcall
# In a folder of its own: what is copied keeps its mode, the folder that it is copied into does not.
RUN mkdir -p /empty/state && chmod 700 /empty/state

FROM gcr.io/distroless/nodejs24-debian12:nonroot AS agent
WORKDIR /app
COPY --from=build /agent-image /app
ENTRYPOINT ["/nodejs/bin/node", "/app/agent.js"]

FROM gcr.io/distroless/nodejs24-debian12:nonroot AS rollcall
WORKDIR /app
COPY --from=build /bin-of-app /usr/local/bin
COPY --from=build /src/dist /app
ENTRYPOINT ["/nodejs/bin/node", "/app/main.js"]

# The embedded hub, for trying it out: the same image with the servers that `rollcall up` starts.
FROM rollcall AS embedded-hub
COPY --from=nats:2.15.2 /nats-server /usr/local/bin/nats-server
COPY --from=registry.k8s.io/etcd:3.6.16-0 /usr/local/bin/etcd /usr/local/bin/etcd
COPY --from=registry.k8s.io/kube-apiserver:v1.36.3 /usr/local/bin/kube-apiserver /usr/local/bin/kube-apiserver
COPY --from=registry.k8s.io/kube-controller-manager:v1.36.3 /usr/local/bin/kube-controller-manager /usr/local/bin/kube-controller-manager
COPY --from=registry.k8s.io/kubectl:v1.36.3 /bin/kubectl /usr/local/bin/kubectl
ENV NODE_OPTIONS=--max-semi-space-size=4 \
    ROLLCALL_NATS_SERVER=/usr/local/bin/nats-server \
    ROLLCALL_ETCD=/usr/local/bin/etcd \
    ROLLCALL_KUBE_APISERVER=/usr/local/bin/kube-apiserver \
    ROLLCALL_KUBE_CONTROLLER_MANAGER=/usr/local/bin/kube-controller-manager \
    ROLLCALL_KUBECTL=/usr/local/bin/kubectl \
    ROLLCALL_HOME=/state
# A volume is made from what stands here, and belongs to whom that does.
COPY --from=build --chown=nonroot:nonroot /empty/ /
VOLUME /state
CMD ["up"]

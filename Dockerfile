# One static binary, the certificates to trust, and a user without rights.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/sink ./cmd/sink
# What a scratch image lacks: a folder for temporary files, and one for tables on a volume.
RUN mkdir -p /out/tmp /out/lake && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/sink /sink
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/lake /lake
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/sink"]
CMD ["run", "-c", "/etc/sink/sink.yaml"]

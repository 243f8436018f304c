package main

import (
	"net"
	"net/http"

	"sink/bench/internal/change"
	"sink/debezium"
)

// decoding returns how to decode a format; Avro gets a registry.
func decoding(format string) (cfg debezium.Config, stop func(), err error) {
	if format != "avro" {
		return cfg, func() {}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return cfg, nil, err
	}
	server := &http.Server{Handler: change.Registry(change.Columns(change.Least))}
	go func() { _ = server.Serve(l) }()
	cfg.Registry, err = debezium.NewRegistry(debezium.RegistryConfig{URL: "http://" + l.Addr().String()})
	return cfg, func() { _ = server.Close() }, err
}

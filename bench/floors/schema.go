package main

import (
	"net"
	"net/http"

	"sink/bench/internal/change"
	"sink/debezium"
	"sink/table"
)

// ordersSchema is the benchmark's table.
func ordersSchema() (*table.Schema, error) {
	var fields []table.Field
	for _, c := range change.Columns(change.Least) {
		t, err := table.ParseType(c.Paimon())
		if err != nil {
			return nil, err
		}
		fields = append(fields, table.Field{Name: c.Name, Type: t})
	}
	s := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "4", "changelog-producer": "input"})
	return s, s.Validate()
}

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

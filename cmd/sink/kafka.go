package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"sink/config"
)

const dialTimeout = 10 * time.Second

// kafkaOptions is how to reach the brokers.
func kafkaOptions(cfg *config.Config, log zerolog.Logger) ([]kgo.Opt, error) {
	k := cfg.Kafka
	opts := []kgo.Opt{
		kgo.SeedBrokers(k.Brokers...),
		kgo.ClientID(k.ClientID),
		kgo.Rack(k.Rack),
		kgo.SessionTimeout(k.SessionTimeout.Std()),
		kgo.HeartbeatInterval(k.SessionTimeout.Std() / 15),
		kgo.FetchMaxBytes(int32(min(k.Fetch.Bytes, 1<<30))),
		kgo.FetchMaxPartitionBytes(int32(min(k.Fetch.PartitionBytes, 1<<30))),
		kgo.FetchMaxWait(k.Fetch.Wait.Std()),
		kgo.SoftwareNameAndVersion("sink", softwareVersion()),
		kgo.WithLogger(kafkaLogger{log}),
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	if k.TLS.On() {
		t, err := tlsConfig(cfg, "kafka.tls", k.TLS)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.Dialer((&tls.Dialer{NetDialer: dialer, Config: t}).DialContext))
	} else {
		opts = append(opts, kgo.Dialer(dialer.DialContext))
	}
	if m := mechanism(k.SASL); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

// softwareVersion is the version as Kafka's protocol allows one to be written.
func softwareVersion() string {
	v := []byte(versionOf())
	for i, c := range v {
		if c != '.' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			v[i] = '-'
		}
	}
	return string(v)
}

func mechanism(s config.SASL) sasl.Mechanism {
	switch s.Mechanism {
	case "plain":
		return plain.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsMechanism()
	case "scram-sha-256":
		return scram.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsSha256Mechanism()
	case "scram-sha-512":
		return scram.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsSha512Mechanism()
	}
	return nil
}

// tlsConfig reads the files that a tls section names; key is where it is in the configuration.
func tlsConfig(cfg *config.Config, key string, t config.TLS) (*tls.Config, error) {
	out := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(string(t.CA))
		if err != nil {
			return nil, misuse(cfg.Problem(key+".ca", "cannot be read: %v", err))
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, misuse(cfg.Problem(key+".ca", "%s holds no certificate in PEM form", t.CA))
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(string(t.Cert), string(t.Key))
		if err != nil {
			return nil, misuse(cfg.Problem(key+".cert", "cannot be used with %s: %v", t.Key, err))
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// registryTLS returns the TLS settings of the registry; nil for the defaults.
func registryTLS(cfg *config.Config) (*tls.Config, error) {
	if !cfg.Registry.TLS.On() {
		return nil, nil
	}
	t, err := tlsConfig(cfg, "registry.tls", cfg.Registry.TLS)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return t, nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"sink/config"
	"sink/connector"
	"sink/connector/compute"
	"sink/debezium"
	"sink/table"
)

// connectorConfig turns a configuration into the connector's, but for the store. All that is wrong with it is told at once.
func connectorConfig(cfg *config.Config, log zerolog.Logger) (connector.Config, error) {
	registry, registryErr := newRegistryClient(cfg)
	kafka, kafkaErr := kafkaOptions(cfg, log)
	out := connector.Config{
		Kafka:        kafka,
		Group:        cfg.Kafka.Group,
		Protocol:     connector.Protocol(cfg.Kafka.GroupProtocol),
		Start:        connector.Start(cfg.Kafka.Start),
		SingleWriter: cfg.SingleWriter,
		Memory:       int64(cfg.Memory),
		FetchBytes:   int64(cfg.Kafka.Fetch.Bytes),
		Checkpoint: connector.Checkpoint{
			Interval: cfg.Checkpoint.Interval.Std(), Bytes: int64(cfg.Checkpoint.Bytes), Records: cfg.Checkpoint.Records,
		},
		TableRetry: connector.TableRetry{Initial: cfg.TableRetry.Initial.Std(), Max: cfg.TableRetry.Max.Std()},
		DidYouMean: config.DidYouMean,
		StopWithin: cfg.ShutdownTimeout.Std(),
		Log:        log,
	}
	errs := []error{registryErr, kafkaErr}
	for i := range cfg.Tables {
		m := mapper{cfg: cfg, key: fmt.Sprintf("tables[%d]", i), t: &cfg.Tables[i]}
		out.Tables = append(out.Tables, m.table(registry))
		errs = append(errs, m.problems...)
	}
	return out, misuse(errors.Join(errs...))
}

// newRegistryClient returns the client of the schema registry; nil where none is configured.
func newRegistryClient(cfg *config.Config) (*debezium.Registry, error) {
	r := cfg.Registry
	if r.URL == "" {
		return nil, nil
	}
	tls, err := registryTLS(cfg)
	if err != nil {
		return nil, err
	}
	client, err := debezium.NewRegistry(debezium.RegistryConfig{URL: r.URL, User: r.Username, Password: r.Password.Reveal(), TLS: tls})
	if err != nil {
		return nil, cfg.Problem("registry.url", "%v", err)
	}
	return client, nil
}

// mapper turns one mapping into the connector's.
type mapper struct {
	cfg      *config.Config
	key      string // of the mapping in the file
	t        *config.Table
	problems []error
}

func (m *mapper) problem(key, format string, args ...any) {
	m.problems = append(m.problems, m.cfg.Problem(m.key+"."+key, format, args...))
}

// table returns the mapping.
func (m *mapper) table(registry *debezium.Registry) connector.Table {
	out := connector.Table{
		Topics:          m.t.Topic,
		Name:            m.t.Table,
		NameCase:        connector.Case(map[string]string{"lower": "lower", "upper": "upper"}[m.t.NameCase]),
		Ghosts:          m.t.GhostTables == "take",
		PrimaryKey:      m.t.PrimaryKey,
		Append:          m.t.Append,
		PartitionBy:     m.t.PartitionBy,
		Options:         m.t.Options,
		Columns:         m.columns(),
		Infer:           m.t.Infer,
		OnError:         connector.Policy(m.t.OnError),
		OnMissingBefore: connector.Policy(m.t.OnMissingBefore),
		OnTruncate:      connector.Policy(m.t.OnTruncate),
		OnTableFailure:  connector.Policy(m.t.OnTableFailure),
		OnKeylessChange: connector.Policy(m.t.OnKeylessChange),
		SchemaChange:    connector.Policy(m.t.SchemaChange),
		OnUnrouted:      connector.Policy(m.t.OnUnrouted),
		Deduplicate:     m.t.Deduplicate == "source-position",
		Compacted:       m.t.Compacted,
		Disjoint:        m.t.Disjoint,
		Decoding:        debezium.Config{Format: formats[m.t.Format], Registry: registry},
		Types:           typesOf(m.t.Types),
		Metadata:        m.metadata(),
		Letters:         connector.Letters{Topic: m.t.DeadLetter.Topic, Path: m.t.DeadLetter.Path},
		Shaping:         m.shaping(),
	}
	if m.t.Absent == "fail" {
		out.Absent = debezium.AbsentFail
	}
	if !m.cfg.CaseSensitive {
		out.NameCase = connector.LowerCase
	}
	if m.t.Topics != nil {
		out.Pattern = m.t.Topics.Anchored()
	}
	if m.t.Source != nil {
		out.Source = m.t.Source.Anchored()
	}
	for _, r := range m.t.Exclude {
		out.Except = append(out.Except, r.Anchored())
	}
	if !out.BySource() {
		for _, topic := range m.t.Topic {
			if _, err := out.Target(topic, debezium.Source{}); err != nil {
				m.problem("table", "%v", err)
			}
		}
	}
	out.LatePartition = map[string]connector.Policy{"drop": connector.Skip, "dead-letter": connector.DeadLetter}[m.t.LatePartition]
	return out
}

// shaping returns how rows differ from those of the source. What cannot be read is told with its line.
func (m *mapper) shaping() connector.Shaping {
	out := connector.Shaping{Include: m.t.IncludeColumns, Exclude: m.t.ExcludeColumns, Lower: !m.cfg.CaseSensitive}
	for _, r := range m.t.Rename {
		if out.Rename == nil {
			out.Rename = map[string]string{}
		}
		out.Rename[r.Name] = r.Text
	}
	for _, c := range m.t.Computed {
		expression, err := compute.Parse(c.Text)
		if err != nil {
			m.problem("computed."+c.Name, "%v", err)
			continue
		}
		for _, column := range expression.Columns() {
			if slices.ContainsFunc(m.t.Computed, func(o config.Named) bool { return o.Name == column }) {
				m.problem("computed."+c.Name, "reads %s, which is computed itself: write its expression instead", column)
			}
		}
		out.Computed = append(out.Computed, connector.Computed{Name: c.Name, Expression: expression})
	}
	if m.t.Filter != "" {
		var err error
		if out.Filter, err = compute.ParseFilter(m.t.Filter); err != nil {
			m.problem("filter", "%v", err)
		}
	}
	return out
}

// columns returns the columns that the file declares, in its order.
func (m *mapper) columns() []table.Field {
	var out []table.Field
	for _, c := range m.t.Columns {
		typ, err := parseType(c.Text)
		if err != nil {
			m.problem("columns."+c.Name, "%v; types are such as BIGINT, DECIMAL(10, 2), STRING, BYTES, DATE, TIMESTAMP(6)", err)
			continue
		}
		out = append(out, table.Field{Name: c.Name, Type: typ})
	}
	return out
}

// parseType reads a type as Paimon's schema files have it: text, or JSON for a nested one.
func parseType(s string) (table.Type, error) {
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		var t table.Type
		err := json.Unmarshal([]byte(s), &t)
		return t, err
	}
	return table.ParseType(s)
}

func (m *mapper) metadata() map[string]debezium.Metadata {
	out := map[string]debezium.Metadata{}
	for _, c := range m.t.Metadata {
		kind, err := debezium.ParseMetadata(c.Text)
		if err != nil {
			m.problem("metadata."+c.Name, "%v", err)
			continue
		}
		out[c.Name] = kind
	}
	return out
}

var formats = map[string]debezium.Format{
	"auto": debezium.FormatAuto, "debezium-json": debezium.FormatJSON, "debezium-avro": debezium.FormatAvro,
}

// typesOf turns the words of the file into debezium's. The file's words are checked, so all are found.
func typesOf(t config.Types) debezium.Types {
	return debezium.Types{
		TinyInt1: map[string]debezium.TinyInt1Mode{"number": debezium.TinyInt1Number, "boolean": debezium.TinyInt1Boolean}[t.TinyInt1],
		Time: map[string]debezium.TimeMode{
			"auto": debezium.TimeAuto, "time": debezium.TimeTime, "int64": debezium.TimeInt64, "string": debezium.TimeString,
		}[t.Time],
		Infinity: map[string]debezium.InfinityMode{"fail": debezium.InfinityFail, "null": debezium.InfinityNull, "max": debezium.InfinityMax}[t.Infinity],
		NaN:      map[string]debezium.NaNMode{"fail": debezium.NaNFail, "null": debezium.NaNNull}[t.NaN],
		Decimal: map[string]debezium.DecimalMode{
			"auto": debezium.DecimalAuto, "base64": debezium.DecimalBase64, "string": debezium.DecimalString, "number": debezium.DecimalNumber,
		}[t.Decimal],
		Binary: map[string]debezium.BinaryMode{
			"auto": debezium.BinaryAuto, "base64": debezium.BinaryBase64, "base64-url-safe": debezium.BinaryBase64URL, "hex": debezium.BinaryHex,
		}[t.Binary],
		Unavailable: t.Unavailable,
	}
}

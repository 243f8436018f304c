package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"sink/config"
	"sink/connector"
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
		Checkpoint: connector.Checkpoint{
			Interval: cfg.Checkpoint.Interval.Std(), Bytes: int64(cfg.Checkpoint.Bytes), Records: cfg.Checkpoint.Records,
		},
		StopWithin: cfg.ShutdownTimeout.Std(),
		Log:        log,
	}
	errs := []error{registryErr, kafkaErr}
	for i := range cfg.Tables {
		m := mapper{cfg: cfg, key: fmt.Sprintf("tables[%d]", i), t: &cfg.Tables[i]}
		tables := m.tables(registry)
		errs = append(errs, m.problems...)
		out.Tables = append(out.Tables, tables...)
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

// tables returns one mapping, or one for each topic where the table's name depends on the topic.
func (m *mapper) tables(registry *debezium.Registry) []connector.Table {
	m.refuseUnbuilt()
	base := connector.Table{
		Topics:          m.t.Topic,
		Name:            m.t.Table,
		PrimaryKey:      m.t.PrimaryKey,
		PartitionBy:     m.t.PartitionBy,
		Options:         m.t.Options,
		Columns:         m.columns(),
		OnError:         connector.Policy(m.t.OnError),
		OnMissingBefore: connector.Policy(m.t.OnMissingBefore),
		OnTruncate:      connector.Policy(m.t.OnTruncate),
		SchemaChange:    connector.Policy(m.t.SchemaChange),
		Deduplicate:     m.t.Deduplicate == "source-position",
		Compacted:       m.t.Compacted,
		Disjoint:        m.t.Disjoint,
		Decoding:        debezium.Config{Format: formats[m.t.Format], Registry: registry},
		Types:           typesOf(m.t.Types),
		Metadata:        m.metadata(),
		Letters:         connector.Letters{Topic: m.t.DeadLetter.Topic, Path: m.t.DeadLetter.Path},
	}
	if m.t.Absent == "fail" {
		base.Absent = debezium.AbsentFail
	}
	if m.t.Topics != nil {
		base.Pattern = m.t.Topics.Anchored()
		return []connector.Table{base}
	}
	if !strings.Contains(base.Name, "${topic}") {
		return []connector.Table{base}
	}
	var out []connector.Table
	for _, topic := range m.t.Topic {
		one := base
		one.Topics, one.Name = []string{topic}, strings.ReplaceAll(base.Name, "${topic}", topic)
		if _, err := tablePath(one.Name); err != nil || strings.Count(one.Name, ".") != 1 {
			m.problem("table", "becomes %q for topic %s, which is not database.table: use `topics` with groups, such as ${1}", one.Name, topic)
		}
		out = append(out, one)
	}
	return out
}

// refuseUnbuilt refuses what the file may say but this version does not do: nothing in the file is ignored silently.
func (m *mapper) refuseUnbuilt() {
	const later = "is not built in this version"
	if m.t.Source != nil {
		m.problem("source", "%s: name the records by topic or topics", later)
	}
	if len(m.t.Exclude) > 0 {
		m.problem("exclude", "%s: write the expression of topics so that it does not match", later)
	}
	if len(m.t.Computed) > 0 {
		m.problem("computed", later)
	}
	if m.t.LatePartition != "write" {
		m.problem("late-partition", "%s: only write is", later)
	}
	for _, name := range []string{"${db}", "${schema}", "${table}"} {
		if strings.Contains(m.t.Table, name) {
			m.problem("table", "%s %s: use a group of the expression in topics, such as ${1}", name, later)
		}
	}
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

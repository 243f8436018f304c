package config

// Config is sink.yaml.
//
// Struct tags: yaml is the key; enum lists the values a text may have; required marks a key that must be given; min is
// the least value; env allows ${NAME}. [Default] has the defaults. The comments become docs/configuration.md.
type Config struct {
	// Where the records come from.
	Kafka Kafka `yaml:"kafka"`
	// The schema registry that Avro records name their schemas in.
	Registry Registry `yaml:"registry"`
	// Where the tables lie: `file:///absolute/folder` or `s3://bucket/prefix`. Each table is in `database.db/table` below it.
	Warehouse string `yaml:"warehouse" required:"true"`
	// How to reach the S3 server of an `s3://` warehouse.
	S3 S3 `yaml:"s3"`
	// The user states that no other process writes the tables. Needed only for a store without a conditional create
	// (`If-None-Match`), which is refused otherwise.
	SingleWriter bool `yaml:"single-writer"`
	// When buffers become a snapshot: at whichever limit comes first.
	Checkpoint Checkpoint `yaml:"checkpoint"`
	// All buffers of the process together. Peak RSS stays within this and 128 MiB, see docs/operations.md. When it is full, fetching
	// pauses.
	Memory Bytes `yaml:"memory" min:"16777216"`
	// `false`: the catalog or the engines that read the tables do not tell cases apart (Hive, AWS Glue). Names of tables and columns become
	// lower case, and two columns or tables that differ in case only are refused, both named.
	CaseSensitive bool `yaml:"case-sensitive"`
	// Each of these may be set again for one table.
	Policies `yaml:",inline"`
	// When a table that has stopped is tried again.
	TableRetry TableRetry `yaml:"table-retry"`
	// Address of metrics, health and the status page: `/metrics`, `/livez`, `/readyz`, `/status`. Empty: off.
	HTTP string `yaml:"http"`
	// How long a stop may take: the last checkpoint, then leaving the group. After that the process ends without it, which
	// loses nothing: the next run reads the records again.
	ShutdownTimeout Duration `yaml:"shutdown-timeout" min:"1"`
	// What the process says on stderr.
	Log Log `yaml:"log"`
	// Which topics become which tables.
	Tables []Table `yaml:"tables" required:"true"`

	file string
	at   map[string]position
}

// Kafka says where the records come from. Records are read with `isolation.level=read_committed`, always.
type Kafka struct {
	// Addresses `host:port` of some brokers; the others are found through them.
	Brokers []string `yaml:"brokers" required:"true"`
	// The consumer group. It is also the commit user of the tables' snapshots: instances of one sink share it, and a new
	// name means a new sink.
	Group string `yaml:"group" required:"true"`
	// Where a partition begins that no snapshot of this sink covers.
	Start string `yaml:"start" enum:"earliest,latest"`
	// The name of this client in the brokers' logs and quotas.
	ClientID string `yaml:"client-id"`
	// The rack or zone of this process, to fetch from the nearest replica.
	Rack string `yaml:"rack"`
	// How long the group waits for this process before its partitions go to others.
	SessionTimeout Duration `yaml:"session-timeout" min:"1000000000"`
	// How partitions move between instances; all of them need the same. `classic` is cooperative-sticky on any broker: only partitions that
	// move are taken away. `eager` takes all partitions from all instances at each rebalance, as older consumers do. `consumer` is
	// the protocol of KIP-848, for brokers of version 4, whose `group.consumer.session.timeout.ms` stands in for `session-timeout`.
	GroupProtocol string `yaml:"group-protocol" enum:"classic,eager,consumer"`
	// How much is asked of a broker at once.
	Fetch Fetch `yaml:"fetch"`
	// Encryption. Any key below it switches it on.
	TLS TLS `yaml:"tls"`
	// Who this process is.
	SASL SASL `yaml:"sasl"`
}

// Fetch says how much is asked of a broker at once.
type Fetch struct {
	// At most this much in one answer; not more than an eighth of `memory`, unless given.
	Bytes Bytes `yaml:"bytes" min:"1024"`
	// At most this much of one partition in one answer. A single larger record still comes.
	PartitionBytes Bytes `yaml:"partition-bytes" min:"1024"`
	// How long a broker may wait for new records before it answers with none.
	Wait Duration `yaml:"wait" min:"1000000"`
}

// TLS is how to encrypt a connection and whom to trust.
type TLS struct {
	// On, also without another key. Off by default, unless another key is set.
	Enabled *bool `yaml:"enabled"`
	// PEM file of the authorities to trust, instead of the system's.
	CA Path `yaml:"ca"`
	// PEM file of this client's certificate, with `key`.
	Cert Path `yaml:"cert"`
	// PEM file of this client's private key, with `cert`.
	Key Path `yaml:"key"`
	// The name to expect in the server's certificate, instead of the one dialled.
	ServerName string `yaml:"server-name"`
	// Trust any certificate. For tests only.
	InsecureSkipVerify bool `yaml:"insecure-skip-verify"`
}

// SASL is who this process is to the brokers.
type SASL struct {
	// How to log in. Empty: no login.
	Mechanism string `yaml:"mechanism" enum:"plain,scram-sha-256,scram-sha-512"`
	// The user's name.
	Username string `yaml:"username" env:"true"`
	// The user's password.
	Password Secret `yaml:"password"`
}

// Registry is the schema registry of Avro records.
type Registry struct {
	// Its address, such as `http://127.0.0.1:8081`.
	URL string `yaml:"url"`
	// Name for HTTP basic authentication.
	Username string `yaml:"username" env:"true"`
	// Password for HTTP basic authentication.
	Password Secret `yaml:"password"`
	// Encryption, for an `https://` address.
	TLS TLS `yaml:"tls"`
}

// S3 is how to reach an S3 server. Without keys here, the credentials are found as AWS tools do: `AWS_ACCESS_KEY_ID` and
// `AWS_SECRET_ACCESS_KEY`, then `~/.aws/credentials`, then the machine's role.
type S3 struct {
	// The server, such as `http://127.0.0.1:9000`. Empty: Amazon's.
	Endpoint string `yaml:"endpoint"`
	// The region of the bucket.
	Region string `yaml:"region"`
	// Put the bucket in the path instead of the host name, as MinIO and others need it.
	PathStyle bool `yaml:"path-style"`
	// The access key's id.
	AccessKey Secret `yaml:"access-key"`
	// The access key's secret.
	SecretKey Secret `yaml:"secret-key"`
	// The token of temporary credentials.
	SessionToken Secret `yaml:"session-token"`
	// PEM file of the authorities to trust, instead of the system's.
	CA Path `yaml:"ca"`
	// Trust any certificate. For tests only.
	InsecureSkipVerify bool `yaml:"insecure-skip-verify"`
}

// Checkpoint says when buffers become a snapshot: at whichever limit comes first.
type Checkpoint struct {
	// At most this long after the first record.
	Interval Duration `yaml:"interval" min:"1000000"`
	// At most this much in the buffers of one table; not more than half of `memory`, unless given.
	Bytes Bytes `yaml:"bytes" min:"1"`
	// At most this many records in the buffers of one table.
	Records int64 `yaml:"records" min:"1"`
}

// Policies say what to do with what is not plain. Each may be set for the whole file and again for a table.
type Policies struct {
	// How records are encoded. `auto` looks at each topic's records.
	Format string `yaml:"format" enum:"auto,debezium-json,debezium-avro"`
	// A record that cannot become rows: broken, or with a value that does not fit its column. `fail` stops the table at
	// the record and keeps the others going; `dead-letter` writes the record and the reason to `dead-letter` and goes on;
	// `skip` counts it and goes on.
	OnError string `yaml:"on-error" enum:"fail,dead-letter,skip"`
	// An update or delete without the whole row before it, which would make a wrong changelog. `accept` writes what is known and counts it;
	// with `changelog-producer` `lookup` or `full-compaction` the changelog is right all the same.
	OnMissingBefore string `yaml:"on-missing-before" enum:"fail,dead-letter,accept"`
	// A TRUNCATE of the source table. `apply` deletes every row of the table, `ignore` counts it. `apply` needs a topic with one partition.
	OnTruncate string `yaml:"on-truncate" enum:"fail,apply,ignore"`
	// An update or a delete for a table without a primary key: nothing tells which row it means. `skip` counts it; `append` makes a log of changes, in
	// which every image is a row, and needs a metadata column `kind`.
	OnKeylessChange string `yaml:"on-keyless-change" enum:"fail,dead-letter,skip,append"`
	// A change of the source table's columns. `evolve` adds and widens columns, and fails where that is not safe; `ignore`
	// keeps the table as it is; `dead-letter` puts records of the new form aside.
	SchemaChange string `yaml:"schema-change" enum:"evolve,ignore,fail,dead-letter"`
	// What becomes of a table that has stopped: at a record that `fail` stops it at, or over a fault that outlasts its checkpoint's retries.
	// `park` leaves it until the process is started again; `retry` tries it again after a pause, see `table-retry`, from its newest snapshot on. A table
	// that was rolled back, or whose records are gone, is parked all the same, and so is every table under `--until-end`. The others go on.
	OnTableFailure string `yaml:"on-table-failure" enum:"park,retry"`
	// A record that no mapping wants, where mappings go by the source of records. `skip` counts it, `fail` stops the mapping there.
	OnUnrouted string `yaml:"on-unrouted" enum:"skip,fail"`
	// Where records go that a policy `dead-letter` puts aside.
	DeadLetter DeadLetter `yaml:"dead-letter"`
	// `source-position` drops events that Debezium sent again after its own restart, by their place in the source's log.
	Deduplicate string `yaml:"deduplicate" enum:"none,source-position"`
}

// TableRetry says when a table that has stopped is tried again, where `on-table-failure` is `retry`.
type TableRetry struct {
	// About this long after its first failure, then twice as long after each further one.
	Initial Duration `yaml:"initial" min:"1000000"`
	// At most about this long.
	Max Duration `yaml:"max" min:"1000000"`
}

// DeadLetter is where records go that are put aside: a topic or a folder.
type DeadLetter struct {
	// A Kafka topic. Records keep their bytes; headers tell where they came from and why.
	Topic string `yaml:"topic"`
	// A folder in the warehouse, instead of a topic. Each record becomes a JSON file.
	Path string `yaml:"path"`
}

// Log says what the process tells on stderr.
type Log struct {
	// The least severe line to print.
	Level string `yaml:"level" enum:"debug,info,warn,error"`
	// `auto` is `console` on a terminal and `json` elsewhere.
	Format string `yaml:"format" enum:"auto,json,console"`
}

// Table maps records to a table, or to one for each topic or table of the source that matches. `topic`, `topics` or `source`
// says which records it takes.
type Table struct {
	// A topic, or a list of topics.
	Topic []string `yaml:"topic"`
	// A regular expression that the whole name of a topic must match. Topics made later are found while running. The shadow tables of online
	// schema changes are left out: see `ghost-tables`.
	Topics *Regexp `yaml:"topics"`
	// A regular expression that the whole `db.schema.table` of an event's source must match (MySQL: `db.table`). A topic may carry many tables; they
	// are found while running. Without `topic` or `topics` all topics are read but those that begin with `_`: name some where the
	// cluster has others'.
	Source *Regexp `yaml:"source"`
	// `database.table`. May use `${topic}`, `${db}`, `${schema}` and `${table}` of the source, and the groups of the expression of `source`, else of `topics`:
	// `${1}`. What is filled in is made safe: the characters `% / \ . $ : * ? " < > |` become `%XX`.
	Table string `yaml:"table" required:"true"`
	// What becomes of letters in the name of the table.
	NameCase string `yaml:"name-case" enum:"keep,lower,upper"`
	// The key of a new table. Default: the fields of the record key. Where records have no key the table has none either: see docs/shaping.md.
	PrimaryKey []string `yaml:"primary-key"`
	// A new table has no primary key, whatever the records have: Paimon's append table.
	Append bool `yaml:"append"`
	// The partition columns of a new table.
	PartitionBy []string `yaml:"partition-by"`
	// Paimon table options of a new table. `changelog-producer` defaults to `input` (see docs/operations.md for when another is better); without `bucket` the sink
	// chooses a fixed count and says so. A table without a primary key has neither.
	Options map[string]string `yaml:"options"`
	// Name to Paimon type, where events carry no types or another one is wanted.
	Columns []Named `yaml:"columns"`
	// Where events carry no types: whether columns that `columns` does not name are made, and widened, as the values ask for. See
	// docs/types.md.
	Infer bool `yaml:"infer"`
	// Columns that tell where a row comes from: name to what. In the key they keep rows of several sources apart.
	Metadata []Named `yaml:"metadata" enum:"topic,partition,offset,timestamp,op,kind,source.ts,source.position,tx,source.name,source.db,source.schema,source.table"`
	// Columns computed from others of the table: name to expression, such as `date_format(created, 'yyyy-MM-dd')`. They may be part of the key or of the
	// partition. See docs/shaping.md.
	Computed []Named `yaml:"computed"`
	// The rows to keep: a condition such as `region = 'eu' and not deleted = true`. An update that enters it is an insert, one that leaves it
	// a delete. See docs/shaping.md.
	Filter string `yaml:"filter"`
	// The columns of the source to take; all, if none is named.
	IncludeColumns []string `yaml:"include-columns"`
	// Columns of the source to leave out.
	ExcludeColumns []string `yaml:"exclude-columns"`
	// Column of the source to column of the table.
	Rename []Named `yaml:"rename"`
	// Regular expressions that the whole `db.schema.table` of an event's source must not match.
	Exclude []Regexp `yaml:"exclude"`
	// Whether patterns take the shadow tables of online schema changes: `_t_gho`, `_t_ghc`, `_t_del`, `_t_new`, `_t_old`, `_vt_...`. Their rows are copies.
	GhostTables string `yaml:"ghost-tables" enum:"skip,take"`
	// How types of the source become Paimon types where there is a choice, and how text is read where events do not declare
	// what it is. See docs/types.md.
	Types Types `yaml:"types"`
	// A column of the table that an event does not have. `fail` is for sources that send changed columns only: under `on-missing-before: accept` an
	// update without the row before it would make the others NULL, which merge engine `partial-update` alone leaves as they are.
	Absent string `yaml:"absent" enum:"null,fail"`
	// A row for a partition that has expired by the option `partition.expiration-time`. `write` makes the partition anew, until it expires again; `drop`
	// counts the row; `dead-letter` puts the record aside. It goes by the clock of this process.
	LatePartition string `yaml:"late-partition" enum:"write,drop,dead-letter"`
	// The user states that several topics, or a changed key, never meet in one row.
	Disjoint bool `yaml:"disjoint"`
	// The user accepts topics with `cleanup.policy=compact`. Compaction removes changes, so that a changelog made of such a
	// topic lacks them: a running SUM over it goes wrong.
	Compacted bool `yaml:"compacted"`

	// What the top of the file says holds where a table says nothing.
	Policies `yaml:",inline"`
}

// Named is a text under a name, in the order of the file.
type Named struct{ Name, Text string }

// Types says how types of the source become Paimon types where there is a choice.
type Types struct {
	// MySQL's TINYINT(1): TINYINT or BOOLEAN.
	TinyInt1 string `yaml:"tinyint1" enum:"number,boolean"`
	// A time of day. `auto`: TIME(3) for milliseconds, BIGINT for microseconds and nanoseconds, STRING for text. `time`: TIME(3), and a
	// value that it cannot hold is a bad record. `int64`: BIGINT in microseconds. `string`: text.
	Time string `yaml:"time" enum:"auto,time,int64,string"`
	// PostgreSQL's infinite dates and timestamps: a bad record, NULL, or the last and first day of Paimon's calendar.
	Infinity string `yaml:"infinity" enum:"fail,null,max"`
	// NaN and infinity in a DECIMAL column: a bad record or NULL. FLOAT and DOUBLE keep them.
	NaN string `yaml:"nan" enum:"fail,null"`
	// How text becomes a DECIMAL where the event does not declare it: as the connector's `decimal.handling.mode` says. `auto` takes
	// what has one reading only.
	Decimal string `yaml:"decimal" enum:"auto,base64,string,number"`
	// How text becomes bytes where the event does not declare it: as the connector's `binary.handling.mode` says. `auto` takes
	// what has one reading only.
	Binary string `yaml:"binary" enum:"auto,base64,base64-url-safe,hex"`
	// The connector's `unavailable.value.placeholder`.
	Unavailable string `yaml:"unavailable"`
}

// Default returns the configuration of an empty file.
func Default() *Config {
	return &Config{
		Kafka: Kafka{
			Start:          "earliest",
			ClientID:       "sink",
			SessionTimeout: Duration(45e9),
			GroupProtocol:  "classic",
			Fetch:          Fetch{Bytes: 16 << 20, PartitionBytes: 1 << 20, Wait: Duration(500e6)},
		},
		Checkpoint: Checkpoint{Interval: Duration(10e9), Bytes: 128 << 20, Records: 1_000_000},
		Memory:     256 << 20,
		Policies: Policies{
			Format:          "auto",
			OnError:         "fail",
			OnMissingBefore: "fail",
			OnTruncate:      "fail",
			OnTableFailure:  "park",
			OnKeylessChange: "fail",
			SchemaChange:    "evolve",
			OnUnrouted:      "skip",
			DeadLetter:      DeadLetter{Topic: "sink.dead"},
			Deduplicate:     "none",
		},
		TableRetry:      TableRetry{Initial: Duration(10e9), Max: Duration(600e9)},
		CaseSensitive:   true,
		ShutdownTimeout: Duration(30e9),
		Log:             Log{Level: "info", Format: "auto"},
	}
}

// defaultTable is what a table is before its keys are read. Its policies are empty: they come from the file's.
func defaultTable() Table {
	return Table{
		Absent: "null", LatePartition: "write", NameCase: "keep", GhostTables: "skip",
		Types: Types{
			TinyInt1: "number", Time: "auto", Infinity: "fail", NaN: "fail", Decimal: "auto", Binary: "auto",
			Unavailable: "__debezium_unavailable_value",
		},
	}
}

// On reports whether the connection is to be encrypted.
func (t TLS) On() bool {
	if t.Enabled != nil {
		return *t.Enabled
	}
	return t.CA != "" || t.Cert != "" || t.Key != "" || t.ServerName != "" || t.InsecureSkipVerify
}

// inherit returns the policies with those that are not set taken from the file's.
func (p Policies) inherit(from Policies) Policies {
	take := func(dst *string, src string) {
		if *dst == "" {
			*dst = src
		}
	}
	take(&p.Format, from.Format)
	take(&p.OnError, from.OnError)
	take(&p.OnMissingBefore, from.OnMissingBefore)
	take(&p.OnTruncate, from.OnTruncate)
	take(&p.OnTableFailure, from.OnTableFailure)
	take(&p.OnKeylessChange, from.OnKeylessChange)
	take(&p.SchemaChange, from.SchemaChange)
	take(&p.OnUnrouted, from.OnUnrouted)
	take(&p.Deduplicate, from.Deduplicate)
	if p.DeadLetter == (DeadLetter{}) {
		p.DeadLetter = from.DeadLetter
	}
	return p
}

package table

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writable returns a schema that Validate has nothing against.
func writable(t *testing.T) *Schema {
	t.Helper()
	return NewSchema(fieldsOf(t, "dt", "DATE", "id", "BIGINT", "seq", "INT", "tags", "ARRAY<INT>", "bin", "BYTES"),
		[]string{"dt", "id"}, []string{"dt"}, map[string]string{"bucket": "2", "changelog-producer": "input"})
}

// set returns a change of options.
func set(kv ...string) func(*Schema) {
	return func(s *Schema) {
		for i := 0; i < len(kv); i += 2 {
			s.Options[kv[i]] = kv[i+1]
		}
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, writable(t).Validate())
	for _, c := range []struct {
		change func(*Schema)
		text   string
	}{
		{set("bucket", "-1"), "dynamic buckets, Paimon's default"},
		{func(s *Schema) { delete(s.Options, "bucket") }, "make the table with a fixed number, such as bucket=4"},
		{set("bucket", "-2"), "postponed buckets"},
		{set("bucket", "0"), "option bucket is 0"},
		{set("bucket-key", "id, seq"), `column " seq" that is not there: write the columns with commas and without spaces`},
		{set("bucket-key", "dt"), "bucket-key names the partition column dt"},
		{set("bucket-key", "seq"), "seq, which is not in the primary key"},
		{set("bucket-key", "id,id"), "names id twice"},
		{set("bucket-function.type", "crc"), `bucket-function.type is "crc"`},
		{set("merge-engine", "newest"), `option merge-engine is "newest", but the sink has no such merge engine: set it to deduplicate or first-row or partial-update or aggregation`},
		{set("changelog-producer", "kafka"), "set it to none or input or lookup or full-compaction"},
		{set("deletion-vectors.enabled", "true"), "deletion-vectors.enabled"},
		{set("row-tracking.enabled", "TRUE"), "row-tracking.enabled"},
		{set("data-file.external-paths", "s3://x"), "option data-file.external-paths is set, but the sink keeps data files in the table's folder: remove it"},
		{set("data-file.path-directory", "d"), "data-file.path-directory"},
		{set("sequence.snapshot-ordering", "true"), "sequence.snapshot-ordering"},
		{set("write.sequence-number-init-mode", "snapshot"), "write.sequence-number-init-mode"},
		{set("rowkind.field", "seq"), "rowkind.field"},
		{set("file.format", "orc"), "the sink writes Parquet"},
		{set("changelog-file.format", "avro"), "changelog-file.format"},
		{set("file.compression", "brotli"), "set it to zstd or"},
		{set("metadata.iceberg.storage", "table-location"), "Iceberg"},
		{set("commit.callbacks", "x.Y"), "commit.callbacks"},
		{set("branch", "b"), "main branch"},
		{set("sequence.field", "seq,nope"), `sequence.field names a column "nope"`},
		{set("sequence.field", "seq,seq"), "sequence.field names seq twice"},
		{set("sequence.field", "tags"), "tags of type ARRAY, which has no order"},
		{set("sequence.field", "seq", "fields.seq.aggregate-function", "sum"), "aggregate function sum"},
		{set("sequence.field.sort-order", "up"), "sequence.field.sort-order"},
		{set("metadata.stats-mode", "some"), `stats mode "some"`},
		{set("fields.seq.stats-mode", "truncate(0)"), "option fields.seq.stats-mode"},
		{set("snapshot.num-retained.min", "9", "snapshot.num-retained.max", "8"), "snapshot.num-retained.min is 9, but snapshot.num-retained.max only 8"},
		{set("snapshot.num-retained.min", "0"), "at least 1"},
		{set("target-file-size", "big"), `option target-file-size: size "big"`},
		{set("snapshot.time-retained", "1 fortnight"), "option snapshot.time-retained"},
		{set("write-only", "yes"), "true or false"},
		{func(s *Schema) { s.PrimaryKeys = []string{"dt"} }, "only partition columns"},
		{func(s *Schema) { s.PrimaryKeys = []string{"id"} }, "partition column dt is not in the primary key, so a key could be in two partitions: add it"},
		{func(s *Schema) { s.PrimaryKeys = append(s.PrimaryKeys, "tags") }, "primary key column tags is of type ARRAY"},
		{func(s *Schema) { s.PartitionKeys = []string{"tags"} }, "partition column tags is of type ARRAY"},
		{func(s *Schema) { s.PartitionKeys = []string{"bin"} }, "set partition.legacy-name to false"},
		{func(s *Schema) { s.Fields[1].Type.NotNull = false }, "primary key column id may be null: declare it NOT NULL"},
		{func(s *Schema) { s.PrimaryKeys = []string{"x"} }, "names a column x"},
		{func(s *Schema) { s.Fields[2].Name = "_VALUE_KIND" }, "keeps for itself: rename it"},
		{func(s *Schema) { s.Fields[2].Name = "_KEY_a" }, "begins with _KEY_"},
		{func(s *Schema) { s.Fields[2].Name = "" }, "has no name"},
		{func(s *Schema) { s.Fields[2].Type = Type{Root: Decimal, Precision: 39} }, "column seq: DECIMAL: the precision is 39"},
		{func(s *Schema) { s.Fields[2].Type = Type{} }, "column seq: Root(0) is no type"},
	} {
		s := writable(t)
		c.change(s)
		require.ErrorContains(t, s.Validate(), c.text)
	}
}

// TestValidateAppend: a table without primary key is an append table, with the options that Paimon gives it.
func TestValidateAppend(t *testing.T) {
	appendTable := func(options ...string) *Schema {
		s := NewSchema(fieldsOf(t, "dt", "STRING", "id", "INT", "tags", "ARRAY<INT>"), nil, []string{"dt"}, map[string]string{})
		set(options...)(s)
		return s
	}
	for _, good := range []*Schema{
		appendTable(), appendTable("bucket", "-1"), appendTable("bucket", "4", "bucket-key", "id"),
		appendTable("changelog-producer", "none", "merge-engine", "Deduplicate"),
	} {
		require.NoError(t, good.Validate())
		require.True(t, good.Append())
	}
	for _, c := range []struct {
		schema *Schema
		text   string
	}{
		{appendTable("bucket", "4"), "option bucket is 4, but the table has no primary key to choose a bucket by: set bucket-key, or bucket to -1"},
		{appendTable("bucket", "-2"), "option bucket is -2"},
		{appendTable("bucket", "0"), "option bucket is 0"},
		{appendTable("bucket-key", "id"), "option bucket-key is set, but option bucket is -1"},
		{appendTable("bucket", "4", "bucket-key", "dt"), "bucket-key names the partition column dt"},
		{appendTable("bucket", "4", "bucket-key", "nope"), `column "nope"`},
		{appendTable("bucket", "4", "bucket-key", "tags"), "bucket-key names tags of type ARRAY, which has no hash"},
		{appendTable("changelog-producer", "input"), "option changelog-producer is \"input\", but the table has no primary key"},
		{appendTable("sequence.field", "id"), "option sequence.field"},
		{appendTable("ignore-delete", "true"), "option ignore-delete"},
		{appendTable("merge-engine", "first-row"), "option merge-engine"},
	} {
		require.ErrorContains(t, c.schema.Validate(), c.text)
	}
}

func TestValidateAllAtOnce(t *testing.T) {
	all := writable(t)
	set("bucket", "-1", "merge-engine", "newest", "file.format", "avro", "write-only", "perhaps")(all)
	require.Len(t, strings.Split(all.Validate().Error(), "\n"), 4, "all problems at once: %v", all.Validate())
	require.ErrorContains(t, (&Schema{}).Validate(), "no columns")
}

func TestSequenceFields(t *testing.T) {
	s := NewSchema(fieldsOf(t, "id", "INT", "a", "INT", "b", "INT"), []string{"id"}, nil, map[string]string{"bucket": "1"})
	require.Nil(t, s.SequenceFields())
	s.Options["sequence.field"] = "a, b"
	require.Equal(t, []string{"a", "b"}, s.SequenceFields())
	require.NoError(t, s.Validate())
}

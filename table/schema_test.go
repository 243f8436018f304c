package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func readSchema(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "schema", name+".json"))
	require.NoError(t, err)
	return b
}

// TestSchemaGolden reads Paimon's schema files and writes them again.
func TestSchemaGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/schema/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := ParseSchema(b)
		require.NoError(t, err, file)
		require.NoError(t, s.Validate(), file)
		require.Equal(t, s.HighestFieldID >= highestID(s.Fields), true)

		again, err := s.Encode()
		require.NoError(t, err)
		var want, got any
		require.NoError(t, json.Unmarshal(b, &want))
		require.NoError(t, json.Unmarshal(again, &got))
		require.Empty(t, cmp.Diff(want, got), file)
		require.Equal(t, compact(t, b), compact(t, again), "member order of %s", file)

		back, err := ParseSchema(again)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(s, back))
	}
}

func compact(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, b))
	return out.String()
}

func TestSchemaNested(t *testing.T) {
	s, err := ParseSchema(readSchema(t, "nested-0"))
	require.NoError(t, err)
	var texts []string
	for _, f := range s.Fields {
		texts = append(texts, f.Name+" "+f.Type.String())
	}
	require.Contains(t, texts, "a_int ARRAY<INT>")
	require.Contains(t, texts, "aa ARRAY<ARRAY<BIGINT>>")

	// New ids come in Paimon's order: a column's own, then the members of its ROWs.
	again := NewSchema(s.Fields, s.PrimaryKeys, s.PartitionKeys, s.Options)
	again.TimeMillis = s.TimeMillis
	require.Empty(t, cmp.Diff(s, again))
}

func TestSchemaVersions(t *testing.T) {
	read := func(version, options string) *Schema {
		t.Helper()
		s, err := ParseSchema([]byte(`{` + version + `"id":4,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":` + options + `}`))
		require.NoError(t, err)
		return s
	}
	require.Equal(t, map[string]string{"bucket": "1", "file.format": "orc"}, read(``, `{}`).Options)
	require.Equal(t, map[string]string{"bucket": "1", "file.format": "orc"}, read(`"version":1,`, `{}`).Options)
	require.Equal(t, map[string]string{"file.format": "orc"}, read(`"version":2,`, `{}`).Options)
	require.Equal(t, map[string]string{}, read(`"version":3,`, `{}`).Options)
	require.Equal(t, map[string]string{"bucket": "8", "file.format": "avro", "write-only": "true"},
		read(``, `{"bucket":8,"file.format":"avro","write-only":true,"comment":null}`).Options)

	_, err := ParseSchema([]byte(`{"version":4,"fields":"in a way not known yet"}`))
	var newer *VersionError
	require.True(t, errors.As(err, &newer))
	require.Equal(t, VersionError{What: "schema", Version: 4, Max: 3}, *newer)
}

func TestSchemaKeepsUnknownMembers(t *testing.T) {
	in := `{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":{"type":"ROW","fields":[{"id":1,"name":"x","type":"INT","future":[1]}]},"hint":"h"}],
		"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{"o":"<&>"},"timeMillis":5,"lineage":{"from":"b"},"owner":"me"}`
	s, err := ParseSchema([]byte(in))
	require.NoError(t, err)
	out, err := s.Encode()
	require.NoError(t, err)
	require.JSONEq(t, in, string(out))
	require.Contains(t, string(out), "<&>")
}

func TestParseSchemaRefuses(t *testing.T) {
	good := `{"version":3,"id":7,"fields":[{"id":0,"name":"a","type":"INT NOT NULL"},{"id":1,"name":"b","type":"INT"}],"highestFieldId":1,"partitionKeys":["b"],"primaryKeys":["a"],"options":{},"timeMillis":5}`
	_, err := ParseSchema([]byte(good))
	require.NoError(t, err)
	for _, c := range []struct{ from, to, text string }{
		{good, `[]`, `schema: `},
		{`"fields"`, `"columns"`, `schema 7: no fields`},
		{`"highestFieldId"`, `"highest"`, `no highestFieldId`},
		{`"partitionKeys"`, `"p"`, `no partitionKeys`},
		{`"primaryKeys"`, `"p"`, `no primaryKeys`},
		{`"options"`, `"o"`, `no options`},
		{`"options":{}`, `"options":{"a":[1]}`, `option a is [1]`},
		{`"id":7`, `"id":-7`, `negative`},
		{`"name":"b"`, `"name":"a"`, `two columns are named a`},
		{`"id":1,"name"`, `"id":0,"name"`, `columns a and b have the same id 0`},
		{`["a"]`, `["c"]`, `primary key names a column c`},
		{`["b"]`, `["b","b"]`, `partition key names b twice`},
		{`"INT"`, `"VARIANT"`, `VARIANT is not supported`},
		{`"type":"INT"}`, `"type":7}`, `a type is a string or an object`},
		{`"id":1,"name":"b"`, `"name":"b"`, `field "b" has no id`},
		{`"name":"b",`, ``, `field 1 has no name`},
		{`,"type":"INT"}`, `}`, `field "b" has no type`},
	} {
		_, err := ParseSchema([]byte(strings.Replace(good, c.from, c.to, 1)))
		require.ErrorContains(t, err, c.text)
	}
}

func TestSchemaKeys(t *testing.T) {
	s := NewSchema([]Field{{Name: "dt", Type: Type{Root: Date}}, {Name: "tenant", Type: Type{Root: Int}}, {Name: "id", Type: Type{Root: BigInt}}, {Name: "v", Type: Type{Root: Int}}},
		[]string{"id", "dt", "tenant"}, []string{"dt"}, map[string]string{"bucket": "4"})
	require.Equal(t, []string{"id", "tenant"}, s.TrimmedPrimaryKeys())
	require.Equal(t, []string{"id", "tenant"}, s.BucketKeys())
	require.Equal(t, []int{2, 0, 1, -1}, s.Indexes([]string{"id", "dt", "tenant", "x"}))
	require.True(t, s.Fields[2].Type.NotNull)
	require.False(t, s.Fields[3].Type.NotNull)
	require.False(t, s.CrossPartition())
	require.Equal(t, 3, s.HighestFieldID)

	s.Options["bucket-key"] = "tenant"
	require.Equal(t, []string{"tenant"}, s.BucketKeys())
	n, err := s.Buckets()
	require.NoError(t, err)
	require.Equal(t, 4, n)
	for value, want := range map[string]error{"-1": ErrDynamicBucket, "-2": ErrPostponeBucket} {
		s.Options["bucket"] = value
		n, err = s.Buckets()
		require.ErrorIs(t, err, want)
		require.Equal(t, value, string(appendJSONFloat(nil, float64(n), 64)))
	}
	for _, value := range []string{"0", "-3", "many", ""} {
		s.Options["bucket"] = value
		_, err = s.Buckets()
		require.ErrorContains(t, err, "option bucket is")
	}
	delete(s.Options, "bucket")
	_, err = s.Buckets()
	require.ErrorIs(t, err, ErrDynamicBucket)

	c := s.Clone()
	c.Options["bucket"], c.Fields[0].Name, c.PrimaryKeys[0] = "9", "x", "y"
	require.NotContains(t, s.Options, "bucket")
	require.Equal(t, "dt", s.Fields[0].Name)
	require.Equal(t, "id", s.PrimaryKeys[0])
}

func FuzzSchemaJSON(f *testing.F) {
	for _, name := range []string{"alltypes-0", "nested-0", "evolved-7"} {
		f.Add(readSchema(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSchema(b)
		if err != nil {
			return
		}
		_ = s.Validate()
		out, err := s.Encode()
		require.NoError(t, err)
		back, err := ParseSchema(out)
		require.NoError(t, err)
		again, err := back.Encode()
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table/goldentest"
)

// TestTablesThatAreNotWritten: check and run refuse to write tables of Paimon's in formats, buckets or with options that the sink does not
// have, and say which. The table stays as it is.
func TestTablesThatAreNotWritten(t *testing.T) {
	b := newBroker(t)
	b.produce(1)
	lake := filepath.Join(b.dir, "lake")
	require.NoError(t, goldentest.Unpack("../../table/scan/testdata/formats-1.3.1.tar.gz", lake))
	require.NoError(t, goldentest.Unpack("../../table/scan/testdata/java-1.3.1.tar.gz", lake))
	for name, want := range map[string]string{
		"orc":            `option file.format is "orc", but the sink writes Parquet`,
		"avro":           `option file.format is "avro", but the sink writes Parquet`,
		"avro_append":    `option file.format is "avro", but the sink writes Parquet`,
		"mixed":          "option file.format.per.level is set, but the sink writes all levels alike",
		"vectors":        `option deletion-vectors.enabled is "true", but the sink writes no deletion vectors`,
		"postpone":       "option bucket is -2 (postponed buckets), which the sink does not write",
		"postpone_parts": "option bucket is -2 (postponed buckets), which the sink does not write",
		"dynamic":        "option bucket is -1 (dynamic buckets, Paimon's default), which the sink does not write",
		"dynamic_nopart": "option bucket is -1 (dynamic buckets, Paimon's default), which the sink does not write",
	} {
		before, err := filepath.Glob(filepath.Join(lake, "g.db", name, "*", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, before)
		b.config(fmt.Sprintf("tables: [{topic: %s, table: g.%s}]", ordersTopic, name))
		for _, command := range [][]string{{"check"}, {"run", "--until-end"}} {
			code, stdout, stderr := b.sink("", command...)
			require.Equal(t, 1, code, "%s %v: %s%s", name, command, stdout, stderr)
			require.Contains(t, strings.ReplaceAll(stdout+stderr, `\"`, `"`), want, "%s %v", name, command) // a log is JSON
		}
		after, err := filepath.Glob(filepath.Join(lake, "g.db", name, "*", "*"))
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

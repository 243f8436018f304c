package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMissingTopicIsNamed: a slip of the pen in a topic's name ends run before it begins, and check and run know the nearest name.
func TestMissingTopicIsNamed(t *testing.T) {
	b := newBroker(t)
	b.config("tables: [{topic: shop.public.order, table: a.b}, {topic: shop.public.customers, table: a.c}]")
	for _, args := range [][]string{{"check"}, {"run", "--until-end"}} {
		code, _, stderr := b.sink("", args...)
		require.Equal(t, 1, code)
		require.Contains(t, strings.ReplaceAll(stderr, `\"`, `"`), `topic shop.public.order (table a.b): is not there`)
		require.Contains(t, strings.ReplaceAll(stderr, `\"`, `"`), `which may match later; did you mean "shop.public.orders"?`)
	}
	code, _, _ := b.sink("", "read", "a.c")
	require.Equal(t, 1, code, "nothing was read")
}

// TestRunFailedNamesTheTable: whichever problems a table has, each line that run ends with says whose they are, and says it once.
func TestRunFailedNamesTheTable(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.config("tables: [{topic: shop.public.orders, table: a.b, options: {bucket: many, file.format: orc}}, {topic: shop.public.customers, table: a.c, options: {bucket: 0}}]")
	code, _, stderr := b.sink("", "run", "--until-end")
	require.Equal(t, 1, code)
	lines := 0
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, `"message":"run failed"`) {
			lines++
			require.Regexp(t, `"error":"table a\.[bc]: `, line)
			require.Equal(t, 1, strings.Count(line, "option bucket is"), line)
		}
	}
	require.Equal(t, 2, lines, stderr)
	require.Contains(t, stderr, "file.format")
}

package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

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

// TestBadRecordIsVisible: a table that a bad record has stopped is red, told once and not tried over and over, beside one that goes on; with
// on-error: skip the record is counted and named, and nothing is red.
func TestBadRecordIsVisible(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.put(ordersTopic, "not JSON")
	failing := b.start("")
	var body string
	require.Eventually(t, func() bool {
		var code int
		code, body = failing.fetch("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "table shop.orders is stopped")
	}, 20*time.Second, 20*time.Millisecond, "the table does not stop")
	require.Regexp(t, `table shop.orders is stopped: .*topic shop.public.orders partition \d offset \d+: bad JSON`, body)
	require.NotContains(t, body, "shop.customers is")
	b.produce(200)
	lag := regexp.MustCompile(`(?m)^sink_lag_records\{partition="0",table="shop.customers",topic="shop.public.customers"\} 0$`)
	require.Eventually(t, func() bool { _, body = failing.fetch("/metrics"); return lag.MatchString(body) }, 20*time.Second, 20*time.Millisecond, "the other table does not go on")
	require.Contains(t, body, `sink_table_failures_total{table="shop.orders"} 1`+"\n")
	require.Contains(t, body, `sink_table_failures_total{table="shop.customers"} 0`+"\n")
	failing.stop()
	require.Equal(t, 1, <-failing.done)
	require.Equal(t, 1, strings.Count(failing.log.String(), `"message":"table stopped; the other tables go on"`), failing.log.String())

	skipping := b.start("on-error: skip")
	skipped := `sink_skipped_records_total{reason="malformed",table="shop.orders"} 1` + "\n"
	require.Eventually(t, func() bool { _, body = skipping.fetch("/metrics"); return strings.Contains(body, skipped) }, 20*time.Second, 20*time.Millisecond, "the record is not counted")
	code, body := skipping.fetch("/readyz")
	require.Equal(t, http.StatusOK, code, body)
	skipping.stop()
	require.Zero(t, <-skipping.done)
	http.DefaultClient.CloseIdleConnections()
	require.Equal(t, 1, strings.Count(skipping.log.String(), `"message":"record left out"`))
	code, _, stderr := b.sink("", "run", "--until-end") // what the stop came too early for; the record is passed over for good
	require.Zero(t, code, stderr)
	b.requireTrue()
}

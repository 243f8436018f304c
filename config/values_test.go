package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1024": 1024, "5B": 5, "128MiB": 128 << 20, "64 MB": 64e6, "2 kb": 2000, "1gib": 1 << 30, "3TB": 3e12, " 7 TiB ": 7 << 40,
	} {
		var b Bytes
		require.NoError(t, b.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, b, text)
		var again Bytes
		require.NoError(t, again.UnmarshalText([]byte(b.String())))
		require.Equal(t, b, again)
	}
	require.Equal(t, "128MiB", Bytes(128<<20).String())
	require.Equal(t, "1000B", Bytes(1000).String())
	for _, text := range []string{"", "MiB", "1.5GiB", "-1", "1 XB", "9999999999999TiB", "1 MiB extra"} {
		require.Error(t, new(Bytes).UnmarshalText([]byte(text)), text)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "500 ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0,
	} {
		var d Duration
		require.NoError(t, d.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, d.Std(), text)
		var again Duration
		require.NoError(t, again.UnmarshalText([]byte(d.String())))
		require.Equal(t, d, again)
	}
	require.Equal(t, "1h30m", Duration(90*time.Minute).String())
	require.Equal(t, "10s", Duration(10*time.Second).String())
	require.Equal(t, "10m", Duration(10*time.Minute).String())
	require.Equal(t, "1h", Duration(time.Hour).String())
	for _, text := range []string{"", "10", "-1s", "1 fortnight", "d", "1.5d", "99999d9999999h"} {
		require.Error(t, new(Duration).UnmarshalText([]byte(text)), text)
	}
}

func TestDidYouMean(t *testing.T) {
	require.Equal(t, `; did you mean "start"?`, DidYouMean("strat", []string{"group", "start"}))
	require.Equal(t, `; did you mean "on-error"?`, DidYouMean("ON_ERROR", []string{"on-truncate", "on-error"}))
	require.Equal(t, `; did you mean "debezium-avro"?`, DidYouMean("Avro", []string{"auto", "debezium-json", "debezium-avro"}))
	require.Equal(t, `; did you mean "shop.public.orders"?`, DidYouMean("orders", []string{"order", "shop.public.orders"}))
	require.Empty(t, DidYouMean("zzz", []string{"group", "start"}))
}

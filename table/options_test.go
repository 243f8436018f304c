package table

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseMemorySize(t *testing.T) {
	for text, want := range map[string]int64{
		"128 mb": 128 << 20, "8kb": 8 << 10, "64": 64, " 5 Bytes ": 5, "1g": 1 << 30, "2 tebibytes": 2 << 40,
		"9223372036854775807 bytes": 1<<63 - 1,
	} {
		got, err := ParseMemorySize(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "mb", "-1 mb", "1.5 mb", "1 mbit", "9223372036854775808", "9007199254740992 kb"} {
		_, err := ParseMemorySize(text)
		require.ErrorContains(t, err, "size", text)
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1 h": time.Hour, "10min": 10 * time.Minute, "500": 500 * time.Millisecond, "2 DAYS": 48 * time.Hour,
		"3 µs": 3 * time.Microsecond, "7ns": 7, "1m": time.Minute,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "h", "1 year", "-1 s", "300000 d"} {
		_, err := ParseDuration(text)
		require.ErrorContains(t, err, "duration", text)
	}
}

func TestOption(t *testing.T) {
	s := &Schema{Options: map[string]string{
		"deduplicate.ignore-delete": "true", "file.compression": "lz4", "snapshot.num-retained.min": "3", "changelog.num-retained.max": "7",
	}}
	require.Equal(t, "true", s.Option("ignore-delete"), "a former name")
	require.Equal(t, "lz4", s.Option("changelog-file.compression"), "the default is another option")
	require.Equal(t, "parquet", s.Option("changelog-file.format"))
	require.Equal(t, "3", s.Option("changelog.num-retained.min"))
	require.Equal(t, "", s.Option("no.such.option"))
	require.Equal(t, "descending", (&Schema{Options: map[string]string{"sequence.field.sort-order": "DESCENDING"}}).Option("sequence.field.sort-order"))
	n, err := s.OptionInt("changelog.num-retained.max")
	require.NoError(t, err)
	require.EqualValues(t, 7, n)
	size, err := s.OptionSize("target-file-size")
	require.NoError(t, err)
	require.EqualValues(t, 128<<20, size)
	d, err := s.OptionDuration("snapshot.time-retained")
	require.NoError(t, err)
	require.Equal(t, time.Hour, d)
	dense, err := s.OptionBool("metadata.stats-dense-store")
	require.NoError(t, err)
	require.True(t, dense)

	// Every default reads as what it is.
	for key, o := range options {
		if o.value != "" || o.inherit != "" {
			require.NoError(t, (&Schema{}).checkOption(key, (&Schema{}).Option(key)), key)
		}
	}
}

// TestEveryOption: testdata/paimon-options.txt lists all options of org.apache.paimon.CoreOptions (1.3.1 and 2.1), and what
// becomes of each when it is set. None is ignored in silence that changes what a writer has to write.
func TestEveryOption(t *testing.T) {
	b, err := os.ReadFile("testdata/paimon-options.txt")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, want, _ := strings.Cut(line, " ")
		listed[name] = true
		require.Equal(t, want, fateOf(t, name), name)
	}
	for name := range options {
		require.True(t, listed[name], "%s is no option of Paimon", name)
	}
}

// fateOf tells what becomes of an option.
func fateOf(t *testing.T, name string) string {
	o, ok := options[name]
	s := NewSchema(fieldsOf(t, "id", "INT"), []string{"id"}, nil, map[string]string{"bucket": "1", name: "no such value"})
	switch {
	case ok && len(o.accepts) == 1:
		require.ErrorContains(t, s.Validate(), "option "+name+" is", name)
		return "refused"
	case ok:
		return "honoured"
	case idleOption(name):
		require.Contains(t, strings.Join(s.Warnings(), "\n"), "option "+name+" is kept in the table for other writers")
		return "warned"
	}
	require.True(t, knownOption(name), name)
	require.Empty(t, s.Warnings(), name)
	return "elsewhere"
}

// TestIdleValues: an option whose one value is what the sink does anyway is warned of with the other.
func TestIdleValues(t *testing.T) {
	for _, test := range []struct {
		key, value string
		idle       []string
	}{
		{"lookup-wait", "false", nil},
		{"lookup-wait", "TRUE", []string{"lookup-wait"}},
		{"changelog-producer.lookup-wait", "true", []string{"lookup-wait"}},
		{"lookup-compact", "radical", nil},
		{"lookup-compact", "Gentle", []string{"lookup-compact"}},
		{"lookup-compact.max-interval", "20", []string{"lookup-compact.max-interval"}},
	} {
		s := NewSchema(fieldsOf(t, "id", "INT NOT NULL"), []string{"id"}, nil, map[string]string{"bucket": "1", "changelog-producer": "lookup", test.key: test.value})
		require.NoError(t, s.Validate(), test)
		require.Equal(t, test.idle, s.IdleOptions(), test)
		require.Len(t, s.Warnings(), len(test.idle), test)
	}
	for _, key := range []string{"lookup-wait", "lookup-compact"} {
		s := NewSchema(fieldsOf(t, "id", "INT NOT NULL"), []string{"id"}, nil, map[string]string{"bucket": "1", key: "perhaps"})
		require.ErrorContains(t, s.Validate(), "option "+key)
	}
}

func TestUnknownOptions(t *testing.T) {
	s := &Schema{Options: map[string]string{
		"bucket": "1", "write.compaction-skip": "true", "scan.mode": "latest", "fields.a.aggregate-function": "sum",
		"parquet.block.size": "1", "record-level.expire-time": "1 d", "bukcet": "4", "a.future.option": "x",
	}}
	require.Equal(t, []string{"a.future.option", "bukcet"}, s.UnknownOptions())
	require.Nil(t, (&Schema{}).UnknownOptions())
}

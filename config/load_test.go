package config

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// testSource is an outside with some files and variables.
func testSource() Source {
	env := map[string]string{"KAFKA_PASSWORD": "hunter2", "KAFKA_USER": "ann", "EMPTY": ""}
	files := map[string]string{"/etc/sink/secret.txt": "from-file\n", "/etc/sink/empty.txt": "\n"}
	return Source{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
	}
}

// least is the smallest configuration that loads.
const least = `kafka: {brokers: ["127.0.0.1:9092"], group: g}
warehouse: file:///var/lake
tables: [{topic: shop.public.orders, table: shop.orders}]
`

// TestProblems runs a script: "load" reads a whole file, "with" puts lines on top of the least
// configuration, "table" adds keys to its table. The output is every problem, or the values that differ from the least.
func TestProblems(t *testing.T) {
	datadriven.RunTest(t, "testdata/problems.txt", func(t *testing.T, d *datadriven.TestData) string {
		text := d.Input + "\n"
		switch d.Cmd {
		case "with":
			text += least
		case "table":
			text = strings.Replace(least, "[{topic: shop.public.orders, table: shop.orders}]", "", 1) + "- " +
				strings.ReplaceAll(strings.TrimSpace(d.Input), "\n", "\n  ") + "\n"
		}
		c, err := Parse("/etc/sink/sink.yaml", []byte(text), testSource())
		if err != nil {
			return strings.ReplaceAll(err.Error(), "/etc/sink/sink.yaml", "sink.yaml") + "\n"
		}
		return fmt.Sprintf("ok: %d tables\n", len(c.Tables))
	})
}

func TestEveryKey(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	c, err := Parse("/etc/sink/sink.yaml", text, testSource())
	require.NoError(t, err)

	require.Equal(t, []string{"b1:9092", "b2:9092"}, c.Kafka.Brokers)
	require.Equal(t, "latest", c.Kafka.Start)
	require.Equal(t, 30*time.Second, c.Kafka.SessionTimeout.Std())
	require.Equal(t, Fetch{Bytes: 8 << 20, PartitionBytes: 512 << 10, Wait: Duration(time.Second)}, c.Kafka.Fetch)
	require.Equal(t, "ann", c.Kafka.SASL.Username)
	require.Equal(t, "hunter2", c.Kafka.SASL.Password.Reveal())
	require.True(t, c.Kafka.TLS.On())
	require.EqualValues(t, "/etc/sink/ca.pem", c.Kafka.TLS.CA)
	require.EqualValues(t, "/abs/cert.pem", c.Kafka.TLS.Cert)
	require.Equal(t, "from-file", c.S3.SecretKey.Reveal())
	require.Equal(t, "hunter2", c.Registry.Password.Reveal())
	require.True(t, c.SingleWriter)
	require.Equal(t, Checkpoint{Interval: Duration(time.Minute), Bytes: 64_000_000, Records: 5}, c.Checkpoint)
	require.Equal(t, Bytes(1<<30), c.Memory)
	require.Equal(t, DeadLetter{Path: "_dead"}, c.DeadLetter)
	require.Equal(t, 90*time.Second, c.ShutdownTimeout.Std())

	require.False(t, c.CaseSensitive)
	require.Len(t, c.Tables, 4)
	orders := c.Tables[0]
	require.Equal(t, []string{"shop.public.orders"}, orders.Topic)
	require.Equal(t, map[string]string{"bucket": "4", "write-only": "true", "snapshot.time-retained": "1 h"}, orders.Options)
	require.Equal(t, []Named{{"id", "BIGINT"}, {"day", "STRING"}, {"amount", "DECIMAL(10, 2)"}}, orders.Columns)
	require.True(t, orders.Infer)
	require.Equal(t, "skip", orders.OnError, "its own")
	require.Equal(t, "accept", orders.OnMissingBefore, "the file's")
	require.Equal(t, DeadLetter{Topic: "orders.dead"}, orders.DeadLetter)
	require.Equal(t, "fail", orders.Absent)
	require.Equal(t, Types{TinyInt1: "boolean", Time: "int64", Infinity: "null", NaN: "null", Decimal: "string", Binary: "hex", Unavailable: "~same~"}, orders.Types)
	pattern := c.Tables[1]
	require.True(t, pattern.Topics.Anchored().MatchString("shop.eu.items"))
	require.False(t, pattern.Topics.Anchored().MatchString("my.shop.eu.items"))
	require.Equal(t, `gh_.*`, pattern.Exclude[0].String())
	require.Equal(t, "dead-letter", pattern.OnError)
	require.Equal(t, "null", pattern.Absent)
	require.Equal(t, "take", pattern.GhostTables)
	require.Equal(t, []string{"id", "region"}, pattern.IncludeColumns)
	both := c.Tables[2]
	require.Equal(t, []string{`shop\..*`, `(\w+)\.public\..*`}, []string{both.Topics.String(), both.Source.String()})
	require.Equal(t, "fail", both.OnUnrouted)
	require.Equal(t, "retry", both.OnTableFailure)
	require.Equal(t, TableRetry{Initial: Duration(5 * time.Second), Max: Duration(time.Minute)}, c.TableRetry)
	require.Equal(t, []Named{{"Created", "created"}}, orders.Rename)
	require.Equal(t, []string{"a", "b"}, c.Tables[3].Topic)
	require.True(t, c.Tables[3].Append)
	require.Equal(t, "skip", c.Tables[3].OnKeylessChange, "the file's")
	require.Equal(t, "4", c.Tables[3].Options["bucket"], "merged from an anchor")

	require.EqualError(t, c.Problem("tables[0].columns.amount", "no such type %s", "DECIMUL"),
		"/etc/sink/sink.yaml:66:17: tables[0].columns.amount: no such type DECIMUL")
	require.EqualError(t, c.Problem("tables[3].options.a.b", "x"), "/etc/sink/sink.yaml:94:5: tables[3].options.a.b: x")
}

func TestDefaults(t *testing.T) {
	c, err := Parse("sink.yaml", []byte(least), Source{})
	require.NoError(t, err)
	d := Default()
	require.Equal(t, d.Policies, c.Policies)
	require.Equal(t, d.Policies, c.Tables[0].Policies)
	require.Equal(t, d.Checkpoint, c.Checkpoint)
	require.Equal(t, d.Memory, c.Memory)
	require.False(t, c.Kafka.TLS.On())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir + "/absent.yaml")
	require.ErrorContains(t, err, "there is no configuration file "+dir+"/absent.yaml: name one with -c")
	require.NoError(t, os.WriteFile(dir+"/sink.yaml", []byte(least), 0o600))
	c, err := Load(dir + "/sink.yaml")
	require.NoError(t, err)
	require.Equal(t, dir+"/sink.yaml", c.File())
	require.NoError(t, os.Truncate(dir+"/sink.yaml", maxFileBytes+1))
	_, err = Load(dir + "/sink.yaml")
	require.ErrorContains(t, err, "more than")
}

// FuzzParse finds panics and endless loops; whatever loads must also name a place for every problem.
func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add(least)
	f.Add("a: &a [*a]\nb: {<<: *b}\n")
	f.Add("kafka: &k {<<: *k, brokers: *k}")
	f.Fuzz(func(t *testing.T, text string) {
		watch := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("endless: %q", text)) })
		defer watch.Stop()
		c, err := Parse("sink.yaml", []byte(text), testSource())
		if (c == nil) == (err == nil) {
			t.Fatal("neither a configuration nor an error, or both")
		}
	})
}

// TestExample reads a file as a user writes one, with most keys at what they are anyway.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("testdata/example.yaml")
	require.NoError(t, err)
	c, err := Parse("sink.yaml", text, testSource())
	require.NoError(t, err)
	require.Equal(t, []string{"127.0.0.1:9092"}, c.Kafka.Brokers)
	require.Equal(t, "http://127.0.0.1:8081", c.Registry.URL)
	require.Equal(t, "http://127.0.0.1:9000", c.S3.Endpoint)
	require.Equal(t, Default().Policies, c.Policies)
	require.Equal(t, Default().Checkpoint, c.Checkpoint)
	require.Equal(t, "null", c.Tables[0].Absent)
	require.Equal(t, map[string]string{"bucket": "4"}, c.Tables[0].Options)
}

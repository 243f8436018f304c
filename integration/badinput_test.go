//go:build integration

package integration

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// Bad input gives one clear message that names the thing and the way out, an exit code other than 0, and loses nothing.

// TestRefused starts the sink with what cannot work. `check` must say the same as `run`.
func TestRefused(t *testing.T) {
	topic := "refused.orders"
	createTopic(t, topic, 1)
	createTopic(t, "refused.compacted", 1, "cleanup.policy", "compact")
	onDisk := func(t *testing.T) config { return newConfig(newLake(t, disk), slug(t), bulkTable("my", topic)) }
	onS3 := func(t *testing.T) config { return newConfig(newLake(t, s3), slug(t), bulkTable("my", topic)) }
	for _, test := range []struct {
		name   string
		config func(t *testing.T) config
		env    []string
		code   int
		says   []string
	}{
		{
			name: "broker unreachable",
			config: func(t *testing.T) config {
				return onDisk(t).with(config{"kafka": config{"brokers": []string{"127.0.0.1:1"}}})
			},
			code: 1, says: []string{"127.0.0.1:1", "kafka.brokers"},
		},
		{
			name: "topic absent",
			config: func(t *testing.T) config {
				return newConfig(newLake(t, disk), slug(t), bulkTable("my", "refused.nowhere"))
			},
			code: 1, says: []string{"topic refused.nowhere", "shop.orders"},
		},
		{
			name: "topic compacted",
			config: func(t *testing.T) config {
				return newConfig(newLake(t, disk), slug(t), bulkTable("my", "refused.compacted"))
			},
			code: 1, says: []string{"topic refused.compacted", "cleanup.policy=compact", "shop.orders"},
		},
		{
			name:   "store unreachable",
			config: func(t *testing.T) config { return onS3(t).with(config{"s3": config{"endpoint": "http://127.0.0.1:1"}}) },
			code:   1, says: []string{"127.0.0.1:1", "endpoint"},
		},
		{
			name:   "bucket missing",
			config: func(t *testing.T) config { return onS3(t).with(config{"warehouse": "s3://no-such-bucket/x"}) },
			code:   1, says: []string{"no-such-bucket"},
		},
		{
			name: "secret wrong", config: onS3, env: []string{"AWS_SECRET_ACCESS_KEY=another"},
			code: 1, says: []string{bucket, "secret"},
		},
		{
			name: "key unknown", config: onS3, env: []string{"AWS_ACCESS_KEY_ID=nobody"},
			code: 1, says: []string{bucket, "access key"},
		},
		{
			name: "rights to read only", config: onS3, env: readOnly(t),
			code: 1, says: []string{bucket, "PutObject"},
		},
		{
			name: "no credentials", config: onS3, env: []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "HOME=/nonexistent"},
			code: 1, says: []string{"AWS_ACCESS_KEY_ID"},
		},
		{
			name: "warehouse is a file",
			config: func(t *testing.T) config {
				return onDisk(t).with(config{"warehouse": "file://" + writeFile(t, "file", "text")})
			},
			code: 1, says: []string{"/file"},
		},
		{
			name:   "key of the file unknown",
			config: func(t *testing.T) config { return onDisk(t).with(config{"kafka": config{"brokes": "x"}}) },
			code:   2, says: []string{"sink.yaml:", "kafka.brokes", "brokers"},
		},
		{
			name: "values bad, all at once",
			config: func(t *testing.T) config {
				return onDisk(t).with(config{"memory": "lots", "on-error": "ignore", "checkpoint": config{"interval": "soon"}})
			},
			code: 2, says: []string{"memory", "lots", "on-error", "ignore", "checkpoint.interval", "soon"},
		},
		{
			name: "column type unknown",
			config: func(t *testing.T) config {
				return newConfig(newLake(t, disk), slug(t), table(topic, "shop.orders", config{"columns": config{"id": "NUMBER"}}))
			},
			code: 2, says: []string{"NUMBER", "id", "sink.yaml:"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := test.config(t).write(t)
			for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
				code, said := refused(t, environment(test.env...), command...)
				require.Equal(t, test.code, code, "exit code of %s; it said:\n%s", command[0], said)
				says(t, said, test.says...)
			}
		})
	}
}

// readOnly are temporary credentials that may read but not write.
func readOnly(t testing.TB) []string {
	t.Helper()
	source, err := credentials.NewSTSAssumeRole("http://"+shared.s3, credentials.STSAssumeRoleOptions{
		AccessKey: accessKey, SecretKey: secretKey, Location: "us-east-1",
		Policy: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:ListBucket","s3:GetBucketLocation"],"Resource":["arn:aws:s3:::*"]}]}`,
	})
	require.NoError(t, err)
	keys, err := source.GetWithContext(&credentials.CredContext{Client: http.DefaultClient})
	require.NoError(t, err)
	return []string{"AWS_ACCESS_KEY_ID=" + keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + keys.SecretAccessKey, "AWS_SESSION_TOKEN=" + keys.SessionToken}
}

// TestMissingFile: no configuration at all.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	code, said := refused(t, environment(), "run", "-c", filepath.Join(t.TempDir(), "nowhere.yaml"))
	require.Equal(t, 2, code)
	says(t, said, "nowhere.yaml", "-c")
}

// TestMisuse: what is typed wrong is told from what failed.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"rum"}, {"run", "--until"}, {"read"}, {"read", "a.b", "-o", "xml"}, {"inspect", "shop.orders", "--warehouse", "ftp://x"}} {
		code, said := refused(t, environment(), args...)
		require.Equal(t, 2, code, "%v: %s", args, said)
	}
	code, said := refused(t, environment(), "read", "shop.nothing", "--warehouse", "file://"+t.TempDir())
	require.Equal(t, 1, code)
	says(t, said, "shop.nothing")
}

// TestPoisonRecord stops one table at a record that cannot be a row, keeps the other going, and loses nothing: with the
// record skipped by configuration, the rest follows.
func TestPoisonRecord(t *testing.T) {
	for name, poison := range map[string]string{
		"cut":      `{"before":null,"after":{"id":`,
		"type":     `{"before":null,"after":{"id":7,"label":"x","weight":"heavy"},"op":"c","ts_ms":1,"source":{}}`,
		"overflow": `{"before":null,"after":{"id":7,"label":"x","weight":2147483648},"op":"c","ts_ms":1,"source":{}}`,
		"not null": `{"before":null,"after":{"id":null,"label":"x","weight":1},"op":"c","ts_ms":1,"source":{}}`,
		"number":   `5`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := slug(t)+".bad", slug(t)+".good"
			createTopic(t, bad, 1)
			createTopic(t, good, 1)
			c := crate{schemaless: true}
			produce(t, []record{
				c.create(bad, 0, 1, "fig", 3), c.create(bad, 0, 2, "oat", 4), keyed(bad, 0, `{"id":7}`, poison), c.create(bad, 0, 3, "rye", 5),
				c.create(good, 0, 1, "fig", 3), c.create(good, 0, 2, "oat", 4),
			})
			l := newLake(t, disk)
			tables := func(policy string) []config {
				return []config{
					table(bad, "orchard.bad", crateColumns, config{"on-error": policy}),
					table(good, "orchard.good", crateColumns),
				}
			}
			sinkYAML := newConfig(l, slug(t), tables("fail")...)
			code, said := refused(t, environment(), "run", "-c", sinkYAML.write(t), "--until-end")
			require.Equal(t, 1, code)
			says(t, said, bad, "partition 0", "offset 2")
			require.Len(t, l.table("orchard.good").agreed(t), 2, "the other table goes on")
			x := l.table("orchard.bad")
			require.Len(t, x.agreed(t), 2, "what came before the record")
			require.Equal(t, int64(2), x.latest(t).covered(t)[bad][0], "offsets stop at the record")
			require.LessOrEqual(t, groupOffsets(t, slug(t))[bad][0], int64(2))

			sinkYAML["tables"] = tables("skip")
			catchUp(t, sinkYAML)
			require.Len(t, x.agreed(t), 3, "the record is skipped, nothing else")
			x.fsck(t)
		})
	}
}

// TestSchemaConflict: a table that is there already and does not fit.
func TestSchemaConflict(t *testing.T) {
	topic := "conflict.crate"
	createTopic(t, topic, 1)
	c := crate{}
	produce(t, []record{c.create(topic, 0, 1, "fig", 3)})
	for name, test := range map[string]struct {
		columns, keys, options string
		more                   config
		says                   []string
	}{
		"type": {
			columns: `{"name":"id","type":"BIGINT NOT NULL"},{"name":"label","type":"STRING"},{"name":"weight","type":"BOOLEAN"}`,
			keys:    `"id"`, options: `{"bucket":"2","changelog-producer":"input"}`,
			says: []string{"orchard.crate", "weight", "BOOLEAN", "INT"},
		},
		"key": {
			columns: `{"name":"id","type":"BIGINT NOT NULL"},{"name":"label","type":"STRING NOT NULL"},{"name":"weight","type":"INT"}`,
			keys:    `"label"`, options: `{"bucket":"2","changelog-producer":"input"}`,
			more: config{"primary-key": []string{"id"}},
			says: []string{"orchard.crate", "primary", "label", "id"},
		},
		"no key": {
			columns: `{"name":"id","type":"BIGINT"},{"name":"label","type":"STRING"},{"name":"weight","type":"INT"}`,
			options: `{"bucket":"-1"}`,
			more:    config{"primary-key": []string{"id"}},
			says:    []string{"orchard.crate", "primary key", "id"},
		},
		"option": {
			columns: `{"name":"id","type":"BIGINT NOT NULL"},{"name":"label","type":"STRING"},{"name":"weight","type":"INT"}`,
			keys:    `"id"`, options: `{"bucket":"2","changelog-producer":"input","file.format":"orc"}`,
			says: []string{"orchard.crate", "file.format", "orc"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLake(t, disk)
			x := l.table("orchard.crate")
			script := `{"op":"create","columns":[` + test.columns + `],"primaryKeys":[` + test.keys + `],"options":` + test.options + "}\n"
			shared.java.must(t, x.java("write", "--input", writeFile(t, "create.jsonl", script))...)
			path := newConfig(l, slug(t), table(topic, "orchard.crate", test.more)).write(t)
			code, said := refused(t, environment(), "run", "-c", path, "--until-end")
			require.Equal(t, 1, code)
			says(t, said, test.says...)
			require.Empty(t, x.snapshots(t), "something was written all the same")
		})
	}
}

// TestSecretsStayHidden: neither errors nor logs show what is secret, in whatever way it was given.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	const password = "hunter2-hunter2"
	file := writeFile(t, "secret", password)
	c := newConfig(newLake(t, s3), slug(t), bulkTable("my", "nowhere")).with(config{
		"kafka": config{"sasl": config{"mechanism": "plain", "username": "x", "password": password}},
		"s3":    config{"access-key": "x", "secret-key-file": file},
		"log":   config{"level": "debug"},
	})
	_, said := refused(t, environment("REGISTRY="+url.QueryEscape(password)), "check", "-c", c.write(t))
	require.NotContains(t, said, password)
	require.NoError(t, os.Remove(file))
	code, said := refused(t, environment(), "check", "-c", c.write(t))
	require.Equal(t, 2, code)
	says(t, said, "secret-key-file", file)
}

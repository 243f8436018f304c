//go:build integration

package integration

import (
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// secured skips what a broker of docker-compose.yml, which is not ours to configure, does not have.
func secured(t testing.TB) {
	t.Helper()
	if shared.kafkaSASL == "" {
		t.Skip("the broker of SINK_KAFKA has no secured listeners")
	}
}

// scramUser makes a user that logs in by SCRAM.
func scramUser(t testing.TB, name, password string, mechanism kadm.ScramMechanism) {
	t.Helper()
	answers, err := shared.admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{
		User: name, Mechanism: mechanism, Iterations: 4096, Password: password,
	}})
	require.NoError(t, err)
	require.NoError(t, answers.Error())
}

// TestKafkaLogin logs in to the real broker in every way that the configuration offers, over TLS.
func TestKafkaLogin(t *testing.T) {
	secured(t)
	ca := shared.tls.path("ca.pem")
	scramUser(t, "carol", "carol-secret", kadm.ScramSha256)
	scramUser(t, "carol", "carol-secret", kadm.ScramSha512)
	for name, kafka := range map[string]config{
		"plain":         {"sasl": config{"mechanism": "plain", "username": "alice", "password": "alice-secret"}},
		"scram-sha-256": {"sasl": config{"mechanism": "scram-sha-256", "username": "carol", "password": "carol-secret"}},
		"scram-sha-512": {"sasl": config{"mechanism": "scram-sha-512", "username": "carol", "password-env": "CAROL"}},
		"rights":        {"sasl": config{"mechanism": "plain", "username": "bob", "password": "bob-secret"}}, // READ and DESCRIBE, no more
		"certificate": {
			"brokers": []string{shared.kafkaTLS},
			"tls":     config{"cert": shared.tls.path("client.crt"), "key": shared.tls.path("client.key")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := produceFreshTopic(t, 200)
			grant(t, "bob", records[0].Topic, slug(t))
			l := newLake(t, disk)
			c := newConfig(l, slug(t), bulkTable("my", records[0].Topic, coordinateColumns)).
				with(config{"kafka": config{"brokers": []string{shared.kafkaSASL}, "tls": config{"ca": ca}}}).with(config{"kafka": kafka})
			path := c.write(t)
			for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
				p := startEnv(t, environment("CAROL=carol-secret"), command...)
				require.Zero(t, p.wait(t, waitLong), "%s: %s", command[0], p.log.String())
			}
			requireExactlyOnce(t, records, l.table("shop.orders").changes(t))
		})
	}
}

// TestKafkaRefuses: a wrong password, no rights, and a certificate that is not trusted.
func TestKafkaRefuses(t *testing.T) {
	secured(t)
	topic := "rights.orders"
	createTopic(t, topic, 1)
	createTopic(t, "rights.granted", 1)
	grant(t, "bob", "rights.granted", "a-group-of-others")
	login := func(user, password string) config {
		return config{
			"brokers": []string{shared.kafkaSASL}, "tls": config{"ca": shared.tls.path("ca.pem")},
			"sasl": config{"mechanism": "plain", "username": user, "password": password},
		}
	}
	for name, test := range map[string]struct {
		topic string
		kafka config
		says  []string
	}{
		"password": {topic, login("alice", "wrong"), []string{"kafka.sasl", "password"}},
		"rights":   {topic, login("bob", "bob-secret"), []string{"topic " + topic, "no right to read a topic", "grant READ and DESCRIBE"}},
		"group":    {"rights.granted", login("bob", "bob-secret"), []string{"no right to use the group", "grant READ on the group"}},
		"certificate": {
			topic, login("alice", "alice-secret").with(config{"tls": nil}).with(config{"tls": config{"enabled": true}}),
			[]string{"certificate", "kafka.tls.ca"},
		},
		"server name": {
			topic, login("alice", "alice-secret").with(config{"tls": config{"server-name": "kafka.example"}}),
			[]string{"certificate", "not kafka.example", "kafka.tls.server-name"},
		},
		"no tls":   {topic, config{"brokers": []string{shared.kafkaSASL}}, []string{shared.kafkaSASL, "kafka.tls"}},
		"no login": {topic, login("", "").with(config{"sasl": nil}), []string{shared.kafkaSASL, "is SASL missing", "kafka.sasl"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newConfig(newLake(t, disk), slug(t), bulkTable("my", test.topic)).with(config{"kafka": test.kafka}).write(t)
			for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
				code, said := refused(t, environment(), command...)
				require.Equal(t, 1, code, "%s: %s", command[0], said)
				says(t, said, test.says...)
				require.NotContains(t, said, "bob-secret")
			}
		})
	}
}

// TestS3TLS writes to an S3 server with a certificate of a private authority, and is refused without it.
func TestS3TLS(t *testing.T) {
	t.Parallel()
	address, err := secureS3()
	require.NoError(t, err)
	records := produceFreshTopic(t, 200)
	ca := shared.tls.path("ca.pem")
	transport, err := minio.DefaultTransport(true)
	require.NoError(t, err)
	transport.TLSClientConfig.RootCAs = shared.tls.pool(t)
	client, err := minio.New(address, &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Secure: true, Transport: transport, BucketLookup: minio.BucketLookupPath,
	})
	require.NoError(t, err)
	require.NoError(t, client.MakeBucket(t.Context(), "secure", minio.MakeBucketOptions{}))

	l := lake{uri: "s3://secure/warehouse", s3: true, server: address, client: client}
	c := newConfig(l, slug(t), bulkTable("my", records[0].Topic)).with(config{"s3": config{"endpoint": "https://" + address}})
	code, said := refused(t, environment(), "check", "-c", c.write(t))
	require.Equal(t, 1, code)
	says(t, said, address, "certificate", "s3.ca")

	path := c.with(config{"s3": config{"ca": ca}}).write(t)
	sink(t, "check", "-c", path)
	sink(t, "run", "-c", path, "--until-end")
	require.NotEmpty(t, lines(sink(t, "read", "shop.orders", "-c", path, "-o", "json")))
}

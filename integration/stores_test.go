//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"sink/table/object"
	"sink/table/object/objecttest"
)

// versityS3 starts an S3 server that shares no code with MinIO: Versity's gateway, with its objects as files on disk.
var versityS3 = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	port, err := shared.service(ctx, "s3.sh", "versitygw", 1, "S3_SERVER=versitygw",
		"AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
	return loopback(port), err
})

// versityLake is an empty warehouse there.
func versityLake(t testing.TB) lake {
	t.Helper()
	server, err := versityS3()
	require.NoError(t, err)
	client, err := openBucket(t.Context(), server)
	require.NoError(t, err)
	return lake{uri: "s3://" + bucket + "/" + slug(t), s3: true, server: server, client: client}
}

// TestObjectStore runs the acceptance suite of object stores, conditional creates among it, against real S3 servers.
func TestObjectStore(t *testing.T) {
	t.Parallel()
	servers := map[string]lake{"minio": newLake(t, s3), "versitygw": versityLake(t)}
	for server, l := range servers {
		t.Run(server, func(t *testing.T) {
			var stores atomic.Int64
			name := slug(t)
			require.NoError(t, l.client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}))
			objecttest.Run(t, func(t *testing.T) object.Store {
				store, err := object.NewS3(object.S3Config{
					Endpoint: "http://" + l.server, Region: "us-east-1", PathStyle: true, AccessKey: accessKey, SecretKey: secretKey,
					Bucket: name, Prefix: fmt.Sprint("suite-", stores.Add(1)),
				})
				require.NoError(t, err)
				return store
			})
		})
	}
}

// TestOtherStore writes a table, in several snapshots, to the other server; all readers agree on it.
func TestOtherStore(t *testing.T) {
	t.Parallel()
	l := versityLake(t)
	s := newStream(t, 2)
	c := newConfig(l, slug(t), s.mapping("orchard.crate"))
	x := l.table("orchard.crate")
	var sent []record
	for range 3 {
		sent = append(sent, produceFresh(t, s.next(200))...)
		catchUp(t, c)
	}
	sink(t, "check", "-c", c.write(t))
	require.GreaterOrEqual(t, len(x.snapshots(t)), 3)
	require.Equal(t, s.truth(), crates(t, x.agreed(t)))
	s.requireWhole(t, x, sent)
}

// TestStoreWithoutConditionalCreate: a server that takes If-None-Match without heeding it is refused, by check and run, until the user states
// that nobody else writes. The proxy cannot take the header away, which is signed; it deletes what the header would protect.
func TestStoreWithoutConditionalCreate(t *testing.T) {
	t.Parallel()
	p := newStoreProxy(t, shared.s3, newMischief(dice(t), storeTricks))
	p.edit = func(r *http.Request) {
		if r.Method != http.MethodPut || r.Header.Get("If-None-Match") == "" {
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")
		if err := shared.bucket.RemoveObject(t.Context(), bucket, name, minio.RemoveObjectOptions{}); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}
	s := newStream(t, 2)
	sent := produceFresh(t, s.next(200))
	l := newLake(t, s3)
	c := newConfig(l, slug(t), s.mapping("orchard.crate")).with(p.through())
	path := c.write(t)
	for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
		code, said := refused(t, environment(), command...)
		require.Equal(t, 1, code, "%s: %s", command[0], said)
		says(t, said, "no conditional create", "If-None-Match", "single-writer: true")
	}
	require.Empty(t, objectsBelow(t, l), "a refused store was written")

	path = c.with(config{"single-writer": true}).write(t)
	require.Contains(t, sink(t, "check", "-c", path), "single-writer says that nobody else writes")
	run := start(t, "run", "-c", path, "--until-end")
	require.Zero(t, run.wait(t, waitLong))
	says(t, run.log.String(), "no conditional create")
	s.requireWhole(t, l.table("orchard.crate"), sent)
}

// objectsBelow are the names of all objects of a warehouse on S3.
func objectsBelow(t testing.TB, l lake) []string {
	t.Helper()
	var names []string
	for o := range l.client.ListObjects(t.Context(), bucket, minio.ListObjectsOptions{Prefix: l.path() + "/", Recursive: true}) {
		require.NoError(t, o.Err)
		names = append(names, o.Key)
	}
	return names
}

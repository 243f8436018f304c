//go:build integration

package integration

import (
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"sink/table/object"
	"sink/table/object/objecttest"
)

// TestObjectStore runs the acceptance suite of object stores against the real S3 server.
func TestObjectStore(t *testing.T) {
	var stores atomic.Int64
	name := slug(t)
	require.NoError(t, shared.bucket.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}))
	objecttest.Run(t, func(t *testing.T) object.Store {
		store, err := object.NewS3(object.S3Config{
			Endpoint: "http://" + shared.s3, Region: "us-east-1", PathStyle: true, AccessKey: accessKey, SecretKey: secretKey,
			Bucket: name, Prefix: string(rune('a' + stores.Add(1))),
		})
		require.NoError(t, err)
		return store
	})
}

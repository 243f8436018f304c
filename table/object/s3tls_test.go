package object_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

func TestS3Certificates(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"e"`) }))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	put := func(change func(*object.S3Config)) error {
		cfg := object.S3Config{Endpoint: srv.URL, PathStyle: true, Region: "r", Bucket: "lake", AccessKey: "a", SecretKey: "hunter2"}
		change(&cfg)
		s, err := object.NewS3(cfg)
		if err != nil {
			return err
		}
		return s.Put(t.Context(), "x", []byte("y"))
	}
	err := put(func(*object.S3Config) {})
	require.ErrorIs(t, err, object.ErrUnreachable)
	require.ErrorContains(t, err, "unknown authority")
	require.NoError(t, put(func(c *object.S3Config) { c.CAFile = ca }))
	require.NoError(t, put(func(c *object.S3Config) { c.SkipVerify = true }))
	require.ErrorContains(t, put(func(c *object.S3Config) { c.CAFile = filepath.Join(t.TempDir(), "none") }), "s3 certificates")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	require.ErrorContains(t, put(func(c *object.S3Config) { c.CAFile = empty }), "holds no certificate")
}

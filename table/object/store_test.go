package object_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sink/table/object"
	"sink/table/object/objecttest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // connections that stay open for the next request
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func TestStores(t *testing.T) {
	t.Run("Mem", func(t *testing.T) {
		objecttest.Run(t, func(*testing.T) object.Store { return object.NewMem() })
	})
	t.Run("Local", func(t *testing.T) {
		objecttest.Run(t, func(t *testing.T) object.Store { return object.NewLocal(filepath.Join(t.TempDir(), "lake")) })
	})
	t.Run("Fault", func(t *testing.T) {
		objecttest.Run(t, func(*testing.T) object.Store { return object.NewFault(object.NewMem()) })
	})
	t.Run("S3", func(t *testing.T) {
		cfg := serverConfig(t)
		objecttest.Run(t, func(t *testing.T) object.Store {
			cfg.Prefix = fmt.Sprintf("suite/%x", rand.Uint64())
			s, err := object.NewS3(cfg)
			require.NoError(t, err)
			return s
		})
	})
}

// serverConfig tells of a real S3 server with a bucket of ours: SINK_TEST_S3_ENDPOINT, SINK_TEST_S3_BUCKET, and the keys in
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (testkey and testsecret if unset).
func serverConfig(t *testing.T) object.S3Config {
	endpoint := os.Getenv("SINK_TEST_S3_ENDPOINT")
	if endpoint == "" {
		t.Skip("SINK_TEST_S3_ENDPOINT names no S3 server")
	}
	return object.S3Config{
		Endpoint: endpoint, PathStyle: true, Region: "us-east-1", PartBytes: 5 << 20,
		AccessKey: cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), "testkey"), SecretKey: cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), "testsecret"),
		Bucket: cmp.Or(os.Getenv("SINK_TEST_S3_BUCKET"), "sink-test"),
	}
}

func TestServerErrors(t *testing.T) {
	cfg := serverConfig(t)
	open := func(change func(*object.S3Config)) error {
		c := cfg
		c.RetryFor = -1
		change(&c)
		s, err := object.NewS3(c)
		require.NoError(t, err)
		err = s.Ping(t.Context())
		require.Error(t, err)
		require.NotContains(t, err.Error(), c.SecretKey)
		require.Contains(t, err.Error(), c.Bucket)
		t.Log(err)
		return err
	}
	require.ErrorIs(t, open(func(c *object.S3Config) { c.Bucket = "no-such-bucket-here" }), object.ErrNoBucket)
	require.ErrorIs(t, open(func(c *object.S3Config) { c.AccessKey = "someone" }), object.ErrCredentials)
	require.ErrorIs(t, open(func(c *object.S3Config) { c.SecretKey = "guess-it-is" }), object.ErrCredentials)
	require.ErrorIs(t, open(func(c *object.S3Config) { c.Endpoint = "http://127.0.0.1:1" }), object.ErrUnreachable)
	c := cfg
	c.Bucket = "no-such-bucket-here"
	s, err := object.NewS3(c)
	require.NoError(t, err)
	_, err = s.Open(t.Context(), "a")
	require.ErrorIs(t, err, object.ErrNoBucket)
	_, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, object.ErrNoBucket)
	require.ErrorIs(t, s.Create(t.Context(), "a", nil), object.ErrNoBucket)
}

func TestLocalCrashLeftovers(t *testing.T) {
	root := t.TempDir()
	old, young := filepath.Join(root, "t", ".sink-0102.tmp"), filepath.Join(root, "t", ".sink-0304.tmp")
	require.NoError(t, os.Mkdir(filepath.Join(root, "t"), 0o777))
	require.NoError(t, os.WriteFile(old, []byte("x"), 0o666))
	require.NoError(t, os.WriteFile(young, []byte("x"), 0o666))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-25*time.Hour)))
	l := object.NewLocal(root)
	require.NoError(t, l.Put(t.Context(), "t/a", nil))
	require.NoFileExists(t, old)
	require.FileExists(t, young, "may have a living owner")
	for info, err := range l.List(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, "t/a", info.Name)
	}
}

func TestLocalFolderGoes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "lake")
	l := object.NewLocal(root)
	require.NoError(t, l.Create(t.Context(), "a/b/1", nil))
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, l.Create(t.Context(), "a/b/1", nil))
	require.NoError(t, l.Put(t.Context(), "c", nil))
}

func TestLocalFileInTheWay(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o666))
	require.ErrorContains(t, object.NewLocal(root).Put(t.Context(), "file/below", nil), "put file/below")
}

func TestOpen(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	for _, uri := range []string{"file://" + dir, "file://localhost" + dir, dir} {
		s, err := object.Open(ctx, uri, object.S3Config{})
		require.NoError(t, err)
		require.NoError(t, s.Put(ctx, "a", []byte(uri)))
		require.FileExists(t, filepath.Join(dir, "a"))
	}
	one, err := object.Open(ctx, "mem://test-open", object.S3Config{})
	require.NoError(t, err)
	two, err := object.Open(ctx, "mem://test-open", object.S3Config{})
	require.NoError(t, err)
	require.Same(t, one, two)
	for uri, text := range map[string]string{
		"":                      "no warehouse given",
		"file://lake/x":         "three slashes",
		"hdfs://x":              `scheme "hdfs" is not supported`,
		"s3://":                 "names no bucket",
		"s3://b/../c":           "leave out",
		"s3://b/x":              "both the access key",
		filepath.Join(dir, "a"): "not a folder",
	} {
		_, err := object.Open(ctx, uri, object.S3Config{AccessKey: "only one"})
		require.ErrorContains(t, err, text, uri)
	}
	for _, endpoint := range []string{"http://u:hunter2@h", "ftp://hunter2", "http://h:hunter2", "http://h/hunter2", "http://h?hunter2"} {
		_, err := object.Open(ctx, "s3://b/x", object.S3Config{Endpoint: endpoint})
		require.ErrorContains(t, err, "write it as http://host:port")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestConfigHidesSecrets(t *testing.T) {
	cfg := object.S3Config{AccessKey: "id", SecretKey: "hunter2", SessionToken: "hunter3", Bucket: "b"}
	for _, format := range []string{"%v", "%+v", "%s", "%#v"} {
		require.NotContains(t, fmt.Sprintf(format, cfg), "hunter", format)
		require.NotContains(t, fmt.Sprintf(format, &cfg), "hunter", format)
	}
}

// server is an S3 server that answers what a test says.
func server(t *testing.T, cfg object.S3Config, handle http.HandlerFunc) *object.S3 {
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	cfg.Endpoint, cfg.PathStyle, cfg.Region, cfg.Bucket, cfg.Prefix = srv.URL, true, "us-east-1", "lake", "w"
	if cfg.Profile == "" && cfg.AccessKey == "" {
		cfg.AccessKey, cfg.SecretKey = "key", "hunter2"
	}
	s, err := object.NewS3(cfg)
	require.NoError(t, err)
	return s
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s it is</Message></Error>", code, code)
}

func TestS3Retries(t *testing.T) {
	var calls atomic.Int32
	s := server(t, object.S3Config{}, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 3 {
			refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return
		}
		w.Header().Set("ETag", `"e"`)
		if r.Method == http.MethodGet {
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			fmt.Fprint(w, "body")
		}
	})
	require.NoError(t, s.Put(t.Context(), "a", []byte("x")))
	require.EqualValues(t, 4, calls.Load())
	calls.Store(0)
	b, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "body", string(b))

	// Create asks once: an unknown outcome is the caller's to settle.
	calls.Store(0)
	err = s.Create(t.Context(), "a", []byte("x"))
	require.ErrorIs(t, err, object.ErrUnreachable)
	require.NotErrorIs(t, err, fs.ErrExist)
	require.EqualValues(t, 1, calls.Load())
}

func TestS3CreateSendsOneConditionalPut(t *testing.T) {
	var calls atomic.Int32
	s := server(t, object.S3Config{}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		require.Equal(t, "*", r.Header.Get("If-None-Match"))
		require.Equal(t, "/lake/w/big", r.URL.Path)
		require.Empty(t, r.URL.RawQuery, "not an upload in parts")
		conn, _, err := w.(http.Hijacker).Hijack() // the answer gets lost
		require.NoError(t, err)
		conn.Close()
	})
	err := s.Create(t.Context(), "big", make([]byte, 20<<20))
	require.ErrorIs(t, err, object.ErrUnreachable)
	require.EqualValues(t, 1, calls.Load())
}

// An answer that is cut off within tells nothing, whatever it begins with.
func TestS3AnswerCutOff(t *testing.T) {
	for _, begin := range []string{
		"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 100\r\n\r\n<Error>", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Le",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 90\r\n\r\n<Error><Co",
	} {
		s := server(t, object.S3Config{}, func(w http.ResponseWriter, _ *http.Request) {
			conn, out, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			_, err = out.WriteString(begin)
			require.NoError(t, err)
			require.NoError(t, out.Flush())
			conn.Close()
		})
		err := s.Create(t.Context(), "a", []byte("x"))
		if err != nil { // a body that nobody needs may be cut off
			require.ErrorIs(t, err, object.ErrUnreachable, "%q", begin)
		}
	}
}

func TestS3Answers(t *testing.T) {
	for _, test := range []struct {
		status int
		code   string
		want   error
		text   string
	}{
		{404, "NoSuchBucket", object.ErrNoBucket, "create it"},
		{404, "NoSuchKey", fs.ErrNotExist, ""},
		{403, "AccessDenied", fs.ErrPermission, "s3:ListBucket"},
		{403, "InvalidAccessKeyId", object.ErrCredentials, "set s3.access-key and s3.secret-key"},
		{403, "SignatureDoesNotMatch", object.ErrCredentials, "set s3.access-key and s3.secret-key"},
		{403, "RequestTimeTooSkewed", object.ErrCredentials, "clock"},
		{412, "PreconditionFailed", fs.ErrExist, ""},
		{301, "PermanentRedirect", nil, "another region"},
		{503, "SlowDown", object.ErrUnreachable, "overloaded"},
		{507, "XMinioStorageFull", nil, "store is full"},
	} {
		t.Run(test.code, func(t *testing.T) {
			s := server(t, object.S3Config{RetryFor: -1}, func(w http.ResponseWriter, _ *http.Request) { refuse(w, test.status, test.code) })
			_, err := s.Get(t.Context(), "a")
			require.ErrorContains(t, err, "get a")
			require.ErrorContains(t, err, test.text)
			require.NotContains(t, err.Error(), "hunter2")
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			}
		})
	}
}

func TestS3DeleteWithoutBatches(t *testing.T) {
	var single atomic.Int32
	s := server(t, object.S3Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			refuse(w, http.StatusNotImplemented, "NotImplemented")
			return
		}
		single.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, s.Delete(t.Context(), "a", "b", "c"))
	require.EqualValues(t, 3, single.Load())
}

func TestS3DeleteReportsWhatStays(t *testing.T) {
	var calls atomic.Int32
	s := server(t, object.S3Config{}, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprint(w, "<DeleteResult><Deleted><Key>w/a</Key></Deleted><Error><Key>w/b</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>")
	})
	err := s.Delete(t.Context(), "a", "b")
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "delete b")
	require.EqualValues(t, 1, calls.Load())
}

func TestS3WriterAbortsUpload(t *testing.T) {
	var aborted atomic.Bool
	s := server(t, object.S3Config{RetryFor: -1, PartBytes: 5 << 20}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
		case r.Method == http.MethodDelete:
			require.Equal(t, "u1", r.URL.Query().Get("uploadId"))
			aborted.Store(true)
			w.WriteHeader(http.StatusNoContent)
		default:
			refuse(w, http.StatusForbidden, "AccessDenied")
		}
	})
	w, err := s.Writer(t.Context(), "a")
	require.NoError(t, err)
	for i := 0; err == nil && i < 10; i++ {
		_, err = w.Write(make([]byte, 5<<20))
	}
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorIs(t, w.Close(), fs.ErrPermission)
	require.True(t, aborted.Load())
}

func TestCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id=fromfile\naws_secret_access_key=s\n[other]\naws_access_key_id=fromprofile\naws_secret_access_key=s\n"), 0o600))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	var used atomic.Value
	handle := func(w http.ResponseWriter, r *http.Request) {
		_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ := strings.Cut(after, "/")
		used.Store(key)
		w.Header().Set("ETag", `"e"`)
	}
	key := func(cfg object.S3Config) (string, error) {
		cfg.RetryFor = -1
		srv := httptest.NewServer(http.HandlerFunc(handle))
		defer srv.Close()
		cfg.Endpoint, cfg.PathStyle, cfg.Region, cfg.Bucket = srv.URL, true, "us-east-1", "lake"
		s, err := object.NewS3(cfg)
		require.NoError(t, err)
		used.Store("")
		err = s.Put(t.Context(), "a", nil)
		return used.Load().(string), err
	}
	got, err := key(object.S3Config{})
	require.NoError(t, err)
	require.Equal(t, "fromfile", got)
	got, err = key(object.S3Config{Profile: "other"})
	require.NoError(t, err)
	require.Equal(t, "fromprofile", got)
	_, err = key(object.S3Config{Profile: "missing"})
	require.ErrorIs(t, err, object.ErrCredentials)
	t.Setenv("AWS_ACCESS_KEY_ID", "fromenv")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	got, err = key(object.S3Config{})
	require.NoError(t, err)
	require.Equal(t, "fromenv", got)
	got, err = key(object.S3Config{AccessKey: "given", SecretKey: "s"})
	require.NoError(t, err)
	require.Equal(t, "given", got)
}

func TestS3PlainServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	s, err := object.NewS3(object.S3Config{Endpoint: strings.TrimPrefix(srv.URL, "http://"), Region: "r", Bucket: "lake", AccessKey: "a", SecretKey: "b"})
	require.NoError(t, err)
	err = s.Ping(t.Context())
	require.ErrorIs(t, err, object.ErrUnreachable)
	require.ErrorContains(t, err, "http://")
}

func TestS3Stalls(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	require.NoError(t, err)
	defer l.Close()
	s, err := object.NewS3(object.S3Config{Endpoint: "http://" + l.Addr().String(), PathStyle: true, Region: "r", Bucket: "lake", AccessKey: "a", SecretKey: "b"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = s.Get(ctx, "a")
	require.ErrorIs(t, err, object.ErrUnreachable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// careless is a store whose Create overwrites.
type careless struct{ object.Store }

func (c careless) Create(ctx context.Context, name string, b []byte) error {
	return c.Put(ctx, name, b)
}

func TestProbe(t *testing.T) {
	require.ErrorIs(t, object.Probe(t.Context(), careless{object.NewMem()}), object.ErrNoConditionalCreate)
	boom := errors.New("boom")
	for _, op := range []object.Op{object.OpCreate, object.OpGet, object.OpList, object.OpDelete} {
		f := object.NewFault(object.NewMem(), object.Rule{Ops: []object.Op{op}, Err: boom})
		require.ErrorIs(t, object.Probe(t.Context(), f), boom, op)
	}
}

// A probe in which an answer got lost, or came for a request that was sent twice, has learned nothing yet: it begins again.
func TestProbeAgain(t *testing.T) {
	for _, effect := range []object.Effect{object.FailBefore, object.FailAfter, object.LieExist} {
		for nth := 1; nth <= 3; nth++ {
			f := object.NewFault(object.NewMem(), object.Rule{Ops: []object.Op{object.OpCreate}, Nth: nth, Effect: effect, Err: object.ErrUnreachable})
			require.NoError(t, object.Probe(t.Context(), f), "%s, create %d", effect, nth)
			require.Equal(t, 1, f.Fired())
			for info, err := range f.List(t.Context(), "") {
				require.NoError(t, err)
				require.Fail(t, "the probe left something", info.Name)
			}
		}
	}
	f := object.NewFault(careless{object.NewMem()}, object.Rule{Ops: []object.Op{object.OpCreate}, Nth: 1, Effect: object.FailAfter, Err: object.ErrUnreachable})
	require.ErrorIs(t, object.Probe(t.Context(), f), object.ErrNoConditionalCreate)
}

package object

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3Config says how to reach a bucket. It prints without secrets.
type S3Config struct {
	// Endpoint is "http://host:port" or "https://host"; without a scheme, https. Empty: AWS_ENDPOINT_URL_S3,
	// AWS_ENDPOINT_URL, else Amazon's own.
	Endpoint string
	// Region is the bucket's. Empty: AWS_REGION, AWS_DEFAULT_REGION, else the server is asked.
	Region string
	// PathStyle puts the bucket into the path of a request rather than into its host name. Off, it is decided by the
	// endpoint: Amazon's get host names.
	PathStyle bool

	// AccessKey and SecretKey, when set, are used as they are, with SessionToken if it is not empty. Else come the
	// environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the shared files (~/.aws/credentials and
	// ~/.aws/config) and the role of the machine, the container or the web identity token, in this order.
	AccessKey    string
	SecretKey    string `json:"-"`
	SessionToken string `json:"-"`
	// Profile names the section of the shared files; empty: AWS_PROFILE, else "default". When set, the environment's keys
	// are not looked at.
	Profile string
	// CredentialsFile is read in place of the shared files.
	CredentialsFile string

	// CAFile holds certificates in PEM to trust beside the system's.
	CAFile string
	// SkipVerify trusts any certificate: for tests only.
	SkipVerify bool

	// RetryFor is how long a call goes on trying while the server does not answer or is overloaded; 1 minute if zero,
	// not at all if negative. Create never retries.
	RetryFor time.Duration
	// PartBytes is the size of the parts of large objects, 5 MiB to 1 GiB; 8 MiB if zero. A writer holds two.
	PartBytes int

	// Bucket and Prefix are where the store's root is. Open takes them from its URI.
	Bucket string
	Prefix string
}

const (
	defaultRetryFor  = time.Minute
	pingFor          = 5 * time.Second
	defaultPartBytes = 8 << 20
	minPartBytes     = 5 << 20
	maxPartBytes     = 1 << 30
	// maxCopyBytes is the most that CopyObject copies in one call.
	maxCopyBytes = 5 << 30
	// listPage is the most that one listing request answers.
	listPage = 1000
	// deleteBatch is the most names that one DeleteObjects request takes.
	deleteBatch = 1000
)

// String leaves out the secrets.
func (c S3Config) String() string {
	access := "from the environment, the shared files or a role"
	if c.AccessKey != "" {
		access = "given"
	}
	return fmt.Sprintf("s3://%s/%s at %s, region %q, credentials %s", c.Bucket, c.Prefix, c.endpointName(), c.Region, access)
}

// GoString leaves out the secrets.
func (c S3Config) GoString() string { return "object.S3Config{" + c.String() + "}" }

func (c S3Config) endpointName() string {
	if c.Endpoint == "" {
		return "Amazon S3"
	}
	return c.Endpoint
}

// S3 is a store in a bucket of an S3 server. A server has to honour "If-None-Match: *"; [Probe] finds out.
//
// All calls but Create retry what can pass: no answer, 5xx, throttling. A large object is an upload in parts, which
// becomes visible at its end; when its process dies first, the parts stay until the bucket's lifecycle rule for
// incomplete uploads removes them.
type S3 struct {
	cfg     S3Config
	core    minio.Core
	creds   *credentials.Credentials
	buffers *sync.Pool // of *[]byte with a capacity of PartBytes
}

// NewS3 returns the store. It makes no request: a wrong bucket or key shows at the first call. See [Open].
func NewS3(cfg S3Config) (*S3, error) {
	cfg.Endpoint = firstOf(cfg.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	cfg.Region = firstOf(cfg.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	cfg.Prefix = strings.Trim(cfg.Prefix, "/")
	if cfg.RetryFor == 0 {
		cfg.RetryFor = defaultRetryFor
	}
	if cfg.PartBytes == 0 {
		cfg.PartBytes = defaultPartBytes
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	host, secure, err := parseEndpoint(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(cfg, secure)
	if err != nil {
		return nil, err
	}
	creds, err := newCredentials(cfg)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if cfg.PathStyle {
		lookup = minio.BucketLookupPath
	}
	// MaxRetries 1: minio-go's own retries would turn our conditional create into a 412 for our own object. All retrying
	// is done here, by retry.
	client, err := minio.NewCore(host, &minio.Options{
		Creds: creds, Secure: secure, Transport: transport, Region: cfg.Region, BucketLookup: lookup, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("s3 endpoint %s: %w", cfg.endpointName(), err)
	}
	return &S3{cfg: cfg, core: *client, creds: creds, buffers: &sync.Pool{New: func() any {
		b := make([]byte, 0, cfg.PartBytes)
		return &b
	}}}, nil
}

func (c S3Config) validate() error {
	switch {
	case c.Bucket == "":
		return errors.New("s3 warehouse names no bucket: write it as s3://bucket/path")
	case c.Prefix != "" && checkName(c.Prefix) != nil:
		return fmt.Errorf("s3 warehouse path %q: leave out empty, \".\" and \"..\" parts", c.Prefix)
	case (c.AccessKey == "") != (c.SecretKey == ""):
		return errors.New("s3 credentials: give both the access key and the secret key, or neither")
	case c.PartBytes < minPartBytes || c.PartBytes > maxPartBytes:
		return fmt.Errorf("s3 part size of %d bytes: use %d to %d", c.PartBytes, minPartBytes, maxPartBytes)
	}
	return nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// parseEndpoint never repeats its argument in an error: it might hold a password.
func parseEndpoint(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil {
		return "", false, errors.New("s3 endpoint: write it as http://host:port or https://host, without path, user or password")
	}
	return u.Host, u.Scheme == "https", nil
}

func newTransport(cfg S3Config, secure bool) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		ExpectContinueTimeout: 5 * time.Second,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
		DisableCompression:    true, // objects are compressed already, and a range must stay a range
	}
	if !secure {
		return t, nil
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.SkipVerify}
	if cfg.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("s3 certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("s3 certificates: %s holds no certificate in PEM", cfg.CAFile)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}

// String returns the URI of the root.
func (s *S3) String() string { return "s3://" + path.Join(s.cfg.Bucket, s.cfg.Prefix) }

// key is the object's name in the bucket.
func (s *S3) key(name string) string { return s.root() + name }

// root is what the keys of all objects start with.
func (s *S3) root() string {
	if s.cfg.Prefix == "" {
		return ""
	}
	return s.cfg.Prefix + "/"
}

// Ping asks the server for the bucket with one listing. A right to list that is missing is no error: it may not be
// needed. It gives up early: whoever asks is waiting.
func (s *S3) Ping(ctx context.Context) error {
	quick := *s
	quick.cfg.RetryFor = min(s.cfg.RetryFor, pingFor)
	_, err := retry(ctx, &quick, 0, func(ctx context.Context) ([]minio.ObjectInfo, error) { return s.listPage(ctx, s.root(), "", 1) })
	if err = s.explain("reach", "", err); errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Put implements [Store].
func (s *S3) Put(ctx context.Context, name string, b []byte) error {
	if err := checkCall(ctx, name); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	_, err := retry(ctx, s, len(b), func(ctx context.Context) (minio.UploadInfo, error) {
		return s.put(ctx, name, b, minio.PutObjectOptions{})
	})
	return s.explain("put", name, err)
}

// Create implements [Store] with "If-None-Match: *" in one request that is never repeated.
func (s *S3) Create(ctx context.Context, name string, b []byte) error {
	if err := checkCall(ctx, name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(len(b)))
	defer cancel()
	var opts minio.PutObjectOptions
	opts.SetMatchETagExcept("*")
	_, err := s.put(ctx, name, b, opts)
	return s.explain("create", name, err)
}

// put sends one request.
func (s *S3) put(ctx context.Context, name string, b []byte, opts minio.PutObjectOptions) (minio.UploadInfo, error) {
	// An upload in parts would lose the condition.
	opts.DisableMultipart = true
	return s.core.Client.PutObject(ctx, s.cfg.Bucket, s.key(name), bytes.NewReader(b), int64(len(b)), opts)
}

// Copy implements [Store] on the server's side: in one request up to 5 GiB, else in parts.
func (s *S3) Copy(ctx context.Context, from, to string) error {
	if err := errors.Join(checkCall(ctx, from), checkName(to)); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	src := minio.CopySrcOptions{Bucket: s.cfg.Bucket, Object: s.key(from)}
	dst := minio.CopyDestOptions{Bucket: s.cfg.Bucket, Object: s.key(to)}
	_, err := retry(ctx, s, maxCopyBytes/64, func(ctx context.Context) (minio.UploadInfo, error) {
		info, err := s.core.Client.CopyObject(ctx, dst, src)
		if tooLargeToCopy(err) {
			info, err = s.core.Client.ComposeObject(ctx, dst, src)
		}
		return info, err
	})
	return s.explain("copy to "+to+" from", from, err)
}

// tooLargeToCopy knows the two answers for a source above maxCopyBytes. So a copy needs no request for its size first.
func tooLargeToCopy(err error) bool {
	if err == nil {
		return false
	}
	e := minio.ToErrorResponse(err)
	return e.Code == "EntityTooLarge" || e.Code == "InvalidRequest" && strings.Contains(e.Message, "maximum allowable size")
}

// List implements [Store]. S3 lists by the bytes of the name.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for after, more := "", true; more; {
			page, err := retry(ctx, s, 0, func(ctx context.Context) ([]minio.ObjectInfo, error) {
				return s.listPage(ctx, s.root()+prefix, after, listPage)
			})
			if err != nil {
				yield(Info{}, s.explain("list", prefix, err))
				return
			}
			for _, o := range page {
				after = o.Key
				if strings.HasSuffix(o.Key, "/") {
					continue // a folder's marker, made by other tools
				}
				if !yield(Info{Name: strings.TrimPrefix(o.Key, s.root()), SizeBytes: o.Size, Modified: o.LastModified}, nil) {
					return
				}
			}
			more = len(page) == listPage
		}
	}
}

// listPage returns up to max objects after a key; fewer only at the end.
func (s *S3) listPage(ctx context.Context, prefix, after string, max int) ([]minio.ObjectInfo, error) {
	no := false
	var page []minio.ObjectInfo
	for o := range s.core.ListObjectsIter(ctx, s.cfg.Bucket, minio.ListObjectsOptions{
		Prefix: prefix, StartAfter: after, MaxKeys: max, Recursive: true, FetchOwner: &no,
	}) {
		if o.Err != nil {
			return nil, o.Err
		}
		if page = append(page, o); len(page) == max {
			return page, nil
		}
	}
	return page, ctx.Err() // the iterator ends without a word when its context does
}

// Delete implements [Store], a thousand names a request.
func (s *S3) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	for batch := range slices.Chunk(names, deleteBatch) {
		rest := slices.Clone(batch)
		failed, err := retry(ctx, s, maxPartBytes, func(ctx context.Context) (name string, err error) {
			if len(rest) == 1 {
				return rest[0], s.deleteOne(ctx, rest[0])
			}
			rest, err = s.deleteSome(ctx, rest)
			if noBatchDelete(err) {
				for len(rest) > 0 {
					if err := s.deleteOne(ctx, rest[0]); err != nil {
						return rest[0], err
					}
					rest = rest[1:]
				}
				return "", nil
			}
			return firstOf(rest...), err
		})
		if err != nil {
			return s.explain("delete", failed, err)
		}
	}
	return nil
}

// deleteSome sends one request and returns the names that are left, with the error of one of them.
func (s *S3) deleteSome(ctx context.Context, names []string) ([]string, error) {
	results, err := s.core.Client.RemoveObjectsWithIter(ctx, s.cfg.Bucket, func(yield func(minio.ObjectInfo) bool) {
		for _, name := range names {
			if !yield(minio.ObjectInfo{Key: s.key(name)}) {
				return
			}
		}
	}, minio.RemoveObjectsOptions{})
	if err != nil {
		return names, err
	}
	failed := map[string]bool{}
	var first error
	for r := range results {
		if r.Err == nil {
			continue
		}
		if e := minio.ToErrorResponse(r.Err); e.Code == minio.NoSuchKey {
			continue
		}
		if first == nil {
			first = r.Err
		}
		failed[r.ObjectName] = true
	}
	if first == nil {
		return nil, ctx.Err()
	}
	if failed[""] { // the answer as a whole
		return names, first
	}
	return slices.DeleteFunc(names, func(name string) bool { return !failed[s.key(name)] }), first
}

func (s *S3) deleteOne(ctx context.Context, name string) error {
	err := s.core.Client.RemoveObject(ctx, s.cfg.Bucket, s.key(name), minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil
	}
	return err
}

// noBatchDelete reports whether the server does not know DeleteObjects.
func noBatchDelete(err error) bool {
	if err == nil {
		return false
	}
	switch e := minio.ToErrorResponse(err); e.StatusCode {
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return true
	default:
		return e.Code == minio.NotImplemented || e.Code == minio.MethodNotAllowed
	}
}

// readBody reads an answer of a known size, at most.
func readBody(body io.ReadCloser, size int64) ([]byte, error) {
	defer body.Close()
	b := make([]byte, size)
	_, err := io.ReadFull(body, b)
	return b, err
}

package object

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	retryBase = 50 * time.Millisecond
	retryCap  = 5 * time.Second
	// minThroughput in bytes a second is what a request must reach, or it counts as stalled.
	minThroughput = 256 << 10
)

// attemptTimeout bounds one request that moves so many bytes.
func attemptTimeout(size int) time.Duration {
	return 90*time.Second + time.Duration(size/minThroughput)*time.Second
}

// retry calls until it succeeds, fails for good, or RetryFor has passed; with growing pauses, each random between
// nothing and the whole, so that many clients do not come back at once. An attempt moves at most size bytes.
func retry[T any](ctx context.Context, s *S3, size int, call func(context.Context) (T, error)) (T, error) {
	var deadline time.Time // counts from the first failure
	for pause := retryBase; ; pause = min(2*pause, retryCap) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout(size))
		v, err := call(attempt)
		cancel()
		if err == nil || ctx.Err() != nil || !passing(err) {
			return v, err
		}
		if minio.ToErrorResponse(err).Code == "ExpiredToken" {
			s.creds.Expire()
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(s.cfg.RetryFor)
		}
		wait := time.Duration(rand.Int64N(int64(pause)))
		if time.Now().Add(wait).After(deadline) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(wait):
		}
	}
}

// passing reports whether an error can go away by itself.
func passing(err error) bool {
	var (
		answer minio.ErrorResponse
		none   *noCredentialsError
		cert   x509.CertificateInvalidError
		host   x509.HostnameError
		ca     x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &answer):
		switch answer.Code {
		case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestThrottled", "RequestLimitExceeded",
			"InternalError", "RequestTimeout", "RequestError", "ExpiredToken", "OperationAborted", "ServiceUnavailable", "BadDigest", "IncompleteBody":
			return true
		}
		return answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented ||
			answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout || answer.StatusCode == 499
	case errors.As(err, &none), errors.As(err, &cert), errors.As(err, &host), errors.As(err, &ca), plainAnswer(err):
		return false
	}
	return true
}

// plainAnswer reports whether a server answered HTTP where HTTPS was asked. The library has no type for it.
func plainAnswer(err error) bool {
	return strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// giveKeys is how a user gives credentials; the first that there is counts.
const giveKeys = "set s3.access-key and s3.secret-key in the configuration (or s3.access-key-file, s3.access-key-env and the like), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"

// explain says what went wrong where, in terms of the package's errors, and what to do. The name may be empty.
func (s *S3) explain(op, name string, err error) error {
	if err == nil {
		return nil
	}
	what := strings.TrimSpace(op + " " + name)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	var (
		answer minio.ErrorResponse
		none   *noCredentialsError
	)
	switch {
	case errors.As(err, &answer):
		return s.explainAnswer(op, what, answer)
	case errors.As(err, &none):
		return fmt.Errorf("%s: %w for bucket %s: %s, or a profile, or run with a role: %w",
			what, ErrCredentials, s.cfg.Bucket, giveKeys, err)
	case plainAnswer(err):
		return fmt.Errorf("%s: %w: %s speaks http, not https: write the endpoint (s3.endpoint, --s3-endpoint) with http://: %w", what, ErrUnreachable, s.cfg.endpointName(), err)
	}
	var ca x509.UnknownAuthorityError
	if errors.As(err, &ca) {
		return fmt.Errorf("%s: %w: certificate of %s is of an unknown authority: give its certificates in a file (s3.ca): %w", what, ErrUnreachable, s.cfg.endpointName(), err)
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // the last two: cut off
		return fmt.Errorf("%s: %w: %s for bucket %s: check the endpoint (s3.endpoint, --s3-endpoint) and the network: %w", what, ErrUnreachable, s.cfg.endpointName(), s.cfg.Bucket, err)
	}
	return fmt.Errorf("%s: bucket %s at %s: %w", what, s.cfg.Bucket, s.cfg.endpointName(), err)
}

// explainAnswer names what the server refused. Its texts hold no secrets.
func (s *S3) explainAnswer(op, what string, answer minio.ErrorResponse) error {
	where := fmt.Sprintf("bucket %s at %s", s.cfg.Bucket, s.cfg.endpointName())
	switch answer.Code {
	case minio.NoSuchKey:
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	case minio.NoSuchBucket:
		return fmt.Errorf("%s: %w: %s: create it, or correct the warehouse", what, ErrNoBucket, where)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidTokenId", "ExpiredToken", "InvalidSecurity", "AuthFailure", "InvalidClientTokenId":
		return fmt.Errorf("%s: %w: %s: check the access key and the secret key: %s: %w", what, ErrCredentials, where, giveKeys, answer)
	case "RequestTimeTooSkewed":
		return fmt.Errorf("%s: %w: %s: set the clock of this machine: %w", what, ErrCredentials, where, answer)
	case minio.AccessDenied:
		return fmt.Errorf("%s: %w: %s: this call needs %s; in all the key needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket: %w",
			what, fs.ErrPermission, where, rightsFor(op), answer)
	case "XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return fmt.Errorf("%s: %s: store is full: free space or raise the quota: %w", what, where, answer)
	case "AuthorizationHeaderMalformed", minio.InvalidRegion, "PermanentRedirect":
		return fmt.Errorf("%s: %s: the bucket is in another region (%s): set s3.region (--s3-region): %w", what, where, firstOf(answer.Region, "unknown"), answer)
	}
	switch {
	case answer.StatusCode == http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", what, fs.ErrExist)
	case answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s: %w: %s: %w", what, fs.ErrPermission, where, answer)
	case answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusBadGateway || answer.StatusCode == http.StatusGatewayTimeout:
		return fmt.Errorf("%s: %w: %s is overloaded or down: %w", what, ErrUnreachable, where, answer)
	}
	return fmt.Errorf("%s: %s: %w", what, where, answer)
}

// rightsFor names the rights that a call needs. Without the right to list, Amazon answers a read of an absent object as it answers a forbidden one.
func rightsFor(op string) string {
	switch op {
	case "put", "create", "write":
		return "s3:PutObject"
	case "delete":
		return "s3:DeleteObject"
	case "list", "reach":
		return "s3:ListBucket"
	case "get", "open", "read":
		return "s3:GetObject and, if the object is absent, s3:ListBucket"
	}
	return "s3:GetObject and s3:PutObject" // copy
}

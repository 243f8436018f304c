package object

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// newCredentials follows the order that [S3Config] documents. minio-go's own chain drops the errors of its links and
// then goes on without a signature, which a server answers with a bare "access denied".
func newCredentials(cfg S3Config) (*credentials.Credentials, error) {
	if cfg.AccessKey != "" {
		return credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken), nil
	}
	shared := &credentials.FileAWSCredentials{Filename: cfg.CredentialsFile, Profile: cfg.Profile}
	if cfg.Profile != "" || cfg.CredentialsFile != "" {
		return credentials.New(&chain{links: []link{{"profile", shared}}}), nil
	}
	// The metadata service is next door, never behind a proxy: it answers at once or is not there.
	near := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
		DisableKeepAlives: true,
	}}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		near = &http.Client{Timeout: 20 * time.Second}
	}
	return credentials.New(&chain{links: []link{
		{"environment", &credentials.EnvAWS{}},
		{"shared files", shared},
		{"role", &credentials.IAM{Client: near, Region: cfg.Region}},
	}}), nil
}

// chain takes the first link that has credentials and stays with it.
type chain struct {
	links []link
	found *link
}

type link struct {
	name string
	credentials.Provider
}

// RetrieveWithCredContext implements [credentials.Provider]. Its first failure is [ErrCredentials]; a failure to renew
// is not, as that can pass.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	if c.found != nil {
		v, err := c.found.RetrieveWithCredContext(cc)
		if err != nil {
			return credentials.Value{}, fmt.Errorf("renew credentials of the %s: %w", c.found.name, err)
		}
		return v, nil
	}
	var tried error
	for i := range c.links {
		l := &c.links[i]
		v, err := l.RetrieveWithCredContext(cc)
		switch {
		case err != nil:
			tried = errors.Join(tried, fmt.Errorf("%s: %w", l.name, err))
		case v.AccessKeyID == "" || v.SecretAccessKey == "":
			tried = errors.Join(tried, fmt.Errorf("%s: none", l.name))
		default:
			c.found = l
			return v, nil
		}
	}
	return credentials.Value{}, &noCredentialsError{tried: tried}
}

// Retrieve implements [credentials.Provider].
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired implements [credentials.Provider].
func (c *chain) IsExpired() bool { return c.found == nil || c.found.IsExpired() }

// noCredentialsError says where credentials were looked for.
type noCredentialsError struct{ tried error }

func (e *noCredentialsError) Error() string {
	return "no credentials found: " + strings.ReplaceAll(e.tried.Error(), "\n", "; ")
}

func (e *noCredentialsError) Unwrap() error { return e.tried }

package debezium

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// RegistryConfig is how to reach a schema registry.
type RegistryConfig struct {
	// URL is the root of Confluent's REST API, or of what is compatible with it (Apicurio's /apis/ccompat/v7), or
	// Apicurio's own API (/apis/registry/v2, v3). Several, separated by commas, are tried in turn.
	URL      string
	User     string // for basic authentication
	Password string
	Token    string // a bearer token, in place of User and Password
	TLS      *tls.Config
	// ContentIDs says that ids without a header are content ids of Apicurio's own API; else they are global ids, its default.
	ContentIDs bool
}

// Registry is a client of a schema registry. It may be used by many goroutines and asks once for each id. When there is no answer to
// the question, the error is a *RegistryError, and whoever asked asks again: a record is not bad because a service is down or because
// the configuration names another. It opens no connection before the first question.
type Registry struct {
	cfg  RegistryConfig
	urls []string
	http *http.Client

	mu      sync.Mutex
	schemas map[schemaID]*schemaCall
	texts   map[string]*avroSchema // equal texts under several ids are one schema
}

// schemaCall is a question that was asked, or is being asked.
type schemaCall struct {
	done    chan struct{}
	schema  *avroSchema
	err     error
	expires time.Time // of an error; zero: never
}

// Bounds of the client's patience and trust.
const (
	registryTimeout = 10 * time.Second // of one request
	registryBody    = 32 << 20
	notFoundFor     = 30 * time.Second // how long an unknown id stays unknown
	referenceDepth  = 16
)

// NewRegistry returns a client.
func NewRegistry(cfg RegistryConfig) (*Registry, error) {
	r := &Registry{cfg: cfg, schemas: map[schemaID]*schemaCall{}, texts: map[string]*avroSchema{}}
	for _, s := range strings.Split(cfg.URL, ",") {
		s = strings.TrimRight(strings.TrimSpace(s), "/")
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("schema registry url %q: want http://host:port or https://host:port", s)
		}
		r.urls = append(r.urls, s)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = cfg.TLS
	r.http = &http.Client{Transport: transport, Timeout: registryTimeout}
	return r, nil
}

// Close lets idle connections go.
func (r *Registry) Close() { r.http.CloseIdleConnections() }

// Asked reports whether a record has asked for a schema, answered or not.
func (r *Registry) Asked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.schemas) > 0
}

// Ping asks the registry something harmless once, to see that it answers. The error is a *RegistryError, or the context's.
func (r *Registry) Ping(ctx context.Context) error {
	path := "/subjects"
	if native(r.urls[0]) {
		path = "/system/info"
	}
	body, err := r.ask(ctx, path)
	if errors.Is(err, errNotFound) || err == nil && !json.Valid(body) {
		return &RegistryError{URL: r.cfg.URL, err: errNoRegistry}
	}
	return err
}

// native tells Apicurio's own API.
func native(base string) bool { return strings.Contains(base, "/apis/registry/") }

// schema returns the schema with an id. An id that the registry does not know gives a *valueError, no answer a *RegistryError.
func (r *Registry) schema(ctx context.Context, id schemaID) (*avroSchema, error) {
	for {
		r.mu.Lock()
		c := r.schemas[id]
		if c == nil || c.expired() {
			c = &schemaCall{done: make(chan struct{})}
			r.schemas[id] = c
			r.mu.Unlock()
			r.settle(ctx, id, c)
			return c.schema, c.err
		}
		r.mu.Unlock()
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if _, none := errors.AsType[*RegistryError](c.err); none || !c.transient() {
			return c.schema, c.err
		}
		// whoever asked gave up, which is no answer for others
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (c *schemaCall) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *schemaCall) expired() bool {
	return c.answered() && (c.transient() || !c.expires.IsZero() && time.Now().After(c.expires))
}

// transient reports whether the call ended without an answer about the schema.
func (c *schemaCall) transient() bool {
	var bad *valueError
	return c.err != nil && !errors.As(c.err, &bad)
}

// settle asks the registry, and settles the call.
func (r *Registry) settle(ctx context.Context, id schemaID, c *schemaCall) {
	defer close(c.done)
	text, references, err := r.fetch(ctx, id)
	if err != nil {
		c.err = err
		c.expires = time.Now().Add(notFoundFor)
		return
	}
	key := text + "\x00" + strings.Join(references, "\x00")
	r.mu.Lock()
	c.schema = r.texts[key]
	r.mu.Unlock()
	if c.schema != nil {
		return
	}
	if c.schema, err = parseAvroSchema(text, references); err != nil {
		c.err = &valueError{reason: ReasonSchema, err: fmt.Errorf("schema %d: %w", id.id, err)}
		return
	}
	r.mu.Lock()
	r.texts[key] = c.schema
	r.mu.Unlock()
}

// registrySchema is an answer of Confluent's API.
type registrySchema struct {
	Schema     string              `json:"schema"`
	SchemaType string              `json:"schemaType"`
	References []registryReference `json:"references"`
}

type registryReference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// fetch returns the text of a schema and of those that it refers to, in an order in which they can be read.
func (r *Registry) fetch(ctx context.Context, id schemaID) (text string, references []string, err error) {
	path := fmt.Sprintf("/schemas/ids/%d", id.id)
	if native(r.urls[0]) {
		ids := "globalIds"
		if id.kind == idContent || id.kind == idDefault && r.cfg.ContentIDs {
			ids = "contentIds"
		}
		path = fmt.Sprintf("/ids/%s/%d?dereference=true&references=DEREFERENCE", ids, id.id)
	}
	body, err := r.ask(ctx, path)
	if errors.Is(err, errNotFound) {
		return "", nil, bad(ReasonSchemaID, "schema id %d is not in the registry", id.id)
	}
	if err != nil {
		return "", nil, err
	}
	if native(r.urls[0]) {
		if !json.Valid(body) {
			return "", nil, r.noSchema(body)
		}
		return string(body), nil, nil
	}
	s, err := r.decode(body)
	if err != nil {
		return "", nil, err
	}
	references, err = r.references(ctx, s, map[registryReference]bool{}, 0)
	return s.Schema, references, err
}

func (r *Registry) decode(body []byte) (*registrySchema, error) {
	var s registrySchema
	if err := json.Unmarshal(body, &s); err != nil || s.Schema == "" {
		return nil, r.noSchema(body)
	}
	if s.SchemaType != "" && s.SchemaType != "AVRO" {
		return nil, bad(ReasonSchema, "schema type %s is not read; have the converter write Avro or JSON", s.SchemaType)
	}
	return &s, nil
}

// references fetches what a schema refers to, deepest first.
func (r *Registry) references(ctx context.Context, s *registrySchema, seen map[registryReference]bool, depth int) (texts []string, err error) {
	if depth > referenceDepth {
		return nil, bad(ReasonSchema, "schema references go more than %d deep", referenceDepth)
	}
	for _, ref := range s.References {
		key := registryReference{Subject: ref.Subject, Version: ref.Version}
		if seen[key] {
			continue
		}
		seen[key] = true
		body, err := r.ask(ctx, fmt.Sprintf("/subjects/%s/versions/%d", url.PathEscape(ref.Subject), ref.Version))
		if errors.Is(err, errNotFound) {
			return nil, bad(ReasonSchemaID, "schema %s version %d, which is referred to, is not in the registry", ref.Subject, ref.Version)
		}
		if err != nil {
			return nil, err
		}
		sub, err := r.decode(body)
		if err != nil {
			return nil, err
		}
		deeper, err := r.references(ctx, sub, seen, depth+1)
		if err != nil {
			return nil, err
		}
		texts = append(append(texts, deeper...), sub.Schema)
	}
	return texts, nil
}

// ask asks one address after the other until one answers. The error is errNotFound, a *RegistryError or the context's.
func (r *Registry) ask(ctx context.Context, path string) ([]byte, error) {
	var failed *RegistryError
	for _, base := range r.urls {
		body, err := r.get(ctx, base, path)
		if err == nil || errors.Is(err, errNotFound) || ctx.Err() != nil {
			return body, err
		}
		failed = failed.and(base, err)
	}
	return nil, failed
}

// get asks once.
func (r *Registry) get(ctx context.Context, base, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json, */*")
	switch {
	case r.cfg.Token != "":
		req.Header.Set("Authorization", "Bearer "+r.cfg.Token)
	case r.cfg.User != "":
		req.SetBasicAuth(r.cfg.User, r.cfg.Password)
	}
	res, err := r.http.Do(req)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok {
			err = asked.Err // the address is told anyway
		}
		return nil, &passingError{err: fmt.Errorf("%w; check registry.url, and that it is reachable from here", err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, registryBody+1))
	switch {
	case err != nil:
		return nil, &passingError{err: err}
	case len(body) > registryBody:
		return nil, fmt.Errorf("answer is longer than %d bytes", registryBody)
	case res.StatusCode == http.StatusOK:
		return body, nil
	case res.StatusCode == http.StatusNotFound && knowsNot(body):
		return nil, errNotFound
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s; check registry.username and registry.password", res.Status)
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500:
		return nil, &passingError{err: fmt.Errorf("%s: %s", res.Status, excerpt(body)), after: retryAfter(res)}
	}
	return nil, fmt.Errorf("%s: %s; %w", res.Status, excerpt(body), errNoRegistry)
}

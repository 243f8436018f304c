package debezium

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// RegistryError says that a schema registry has not answered the question: it is away, it refuses, or something else is at its address.
// That is nobody's record's fault.
type RegistryError struct {
	URL     string        // that was asked; several are separated by commas
	Passing bool          // it may pass by itself: the registry cannot be reached, or is busy
	After   time.Duration // what the registry asks to wait; 0: nothing
	err     error
}

func (e *RegistryError) Error() string { return fmt.Sprintf("schema registry %s: %v", e.URL, e.err) }
func (e *RegistryError) Unwrap() error { return e.err }

// and adds what came of one address to what came of those before it, of which there may be none.
func (e *RegistryError) and(url string, err error) *RegistryError {
	now := &RegistryError{URL: url, err: err}
	if passing, ok := errors.AsType[*passingError](err); ok {
		now.Passing, now.After = true, passing.after
	}
	if e == nil {
		return now
	}
	return &RegistryError{
		URL: e.URL + "," + url, Passing: e.Passing || now.Passing, After: max(e.After, now.After), err: fmt.Errorf("%w; %w", e.err, err),
	}
}

// errNotFound says that the registry has no such schema.
var errNotFound = errors.New("not found")

// errNoRegistry says that something else answers, or a registry whose API has another path.
var errNoRegistry = errors.New("there is no schema registry at this address: check registry.url, and the path in it")

// noSchema is the error of an answer that says that all is well, but holds no schema.
func (r *Registry) noSchema(body []byte) error {
	return &RegistryError{URL: r.cfg.URL, err: fmt.Errorf("the answer is no schema: %s; %w", excerpt(body), errNoRegistry)}
}

// passingError is a failure that may pass.
type passingError struct {
	err   error
	after time.Duration // what the registry asks to wait
}

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// knowsNot tells a registry that has no such schema from a server, or a registry, that has no such path. The former says so in a code
// of five digits (Confluent's API: 40401 no such subject, 40402 version, 40403 schema), or by the name of what is not found (Apicurio's
// own API: ArtifactNotFoundException, ContentNotFoundException). For an unknown path Confluent's registry answers with error_code 404,
// Apicurio with error_code 0, or with NotFoundException.
func knowsNot(body []byte) bool {
	var e struct {
		Code int    `json:"error_code"`
		Name string `json:"name"`
	}
	if json.Unmarshal(body, &e) != nil {
		return false
	}
	return e.Code/100 == 404 || e.Name != "NotFoundException" && strings.HasSuffix(e.Name, "NotFoundException")
}

// retryAfter reads how many seconds the registry asks to wait, within reason.
func retryAfter(res *http.Response) time.Duration {
	return min(time.Duration(max(atoi(res.Header.Get("Retry-After"), 0), 0))*time.Second, time.Minute)
}

// excerpt is the beginning of an answer, in one line.
func excerpt(body []byte) string {
	return fmt.Sprintf("%.200s", strings.Join(strings.Fields(string(body)), " "))
}

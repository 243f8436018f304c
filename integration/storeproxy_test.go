//go:build integration

package integration

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storeProxy stands before an S3 server. It passes signed requests on as they are, but for what its mischief does to them.
type storeProxy struct {
	*mischief
	holds[*http.Request]
	server string // host:port of the real one
	// edit changes requests on their way; what is signed must stay.
	edit  func(*http.Request)
	front *httptest.Server
	back  *http.Transport
}

// newStoreProxy starts one before server; it ends with the test.
func newStoreProxy(t testing.TB, server string, m *mischief) *storeProxy {
	t.Helper()
	p := &storeProxy{mischief: m, server: server, back: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	p.front = httptest.NewServer(p)
	t.Cleanup(func() {
		p.front.CloseClientConnections()
		p.front.Close()
		p.back.CloseIdleConnections()
	})
	return p
}

// through is the part of a sink.yaml that reaches the store through the proxy.
func (p *storeProxy) through() config { return config{"s3": config{"endpoint": p.front.URL}} }

func (p *storeProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, delay := p.next()
	body, err := io.ReadAll(r.Body)
	if err != nil { // the client has gone
		panic(http.ErrAbortHandler)
	}
	h := p.take(r)
	if h != nil && !h.after {
		h.wait()
	}
	switch kind {
	case cutBefore:
		panic(http.ErrAbortHandler)
	case cutWithin:
		p.cutShort(r, body)
		panic(http.ErrAbortHandler)
	case unavailable:
		refuse(w)
		return
	case delayed:
		time.Sleep(delay)
	}
	answer, text := p.forward(r, bytes.NewReader(body), int64(len(body)))
	if h != nil && h.after {
		h.wait()
	}
	switch kind {
	case cutUnheard:
		panic(http.ErrAbortHandler)
	case lying:
		refuse(w)
		return
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if kind == cutAnswer {
		w.Write(text[:len(text)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(text)
}

// cutShort sends half of a request's body and hangs up.
func (p *storeProxy) cutShort(r *http.Request, body []byte) {
	if len(body) == 0 {
		return
	}
	half := io.MultiReader(bytes.NewReader(body[:len(body)/2]), brokenReader{})
	p.roundTrip(r, half, int64(len(body)))
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// forward has the server carry out a request, and returns its whole answer. The server is asked even if the client has
// gone: that is the point.
func (p *storeProxy) forward(r *http.Request, body io.Reader, size int64) (*http.Response, []byte) {
	answer, err := p.roundTrip(r, body, size)
	if err != nil { // the server itself is away
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return answer, text
}

func (p *storeProxy) roundTrip(r *http.Request, body io.Reader, size int64) (*http.Response, error) {
	out := &http.Request{
		Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header.Clone(), Body: io.NopCloser(body), ContentLength: size,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if size == 0 {
		out.Body = http.NoBody
	}
	out.URL.Scheme, out.URL.Host = "http", p.server
	out.Header.Del("Expect")
	out.Header.Del("Connection")
	if p.edit != nil {
		p.edit(out)
	}
	return p.back.RoundTrip(out)
}

// refuse answers as an overloaded server.
func refuse(w http.ResponseWriter) {
	const text = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, text)
}

// putOf matches the upload of an object whose name below the table has this prefix.
func putOf(prefix string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/"+prefix)
	}
}

// TestStoreProxyIsHonest reads and writes through a calm proxy, so that no other test fails for it.
func TestStoreProxyIsHonest(t *testing.T) {
	t.Parallel()
	p := newStoreProxy(t, shared.s3, newMischief(dice(t), storeTricks))
	s := newStream(t, 2)
	sent := produceFresh(t, s.next(200))
	l := newLake(t, s3)
	catchUp(t, newConfig(l, slug(t), s.mapping("orchard.crate")).with(p.through()))
	x := l.table("orchard.crate")
	requireExactlyOnce(t, sent, x.changes(t))
	require.Equal(t, s.truth(), crates(t, x.agreed(t)))
}

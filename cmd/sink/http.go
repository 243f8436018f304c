package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sink/connector"
)

//go:embed status.html
var statusHTML string

var statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
	"bytes": humanBytes,
	"count": humanCount,
	"since": func(t time.Time, now time.Time) string { return now.Sub(t).Round(time.Second).String() },
}).Parse(statusHTML))

// web serves metrics, health and the status page.
type web struct {
	stats   func() connector.Stats
	now     func() time.Time
	started time.Time
	// profiles adds /debug/pprof/: a profile costs CPU and tells what the process does, so it is asked for.
	profiles bool
}

// handler returns the routes.
func (w *web) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(newRegistry(w.stats, w.now), promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", w.ready)
	mux.HandleFunc("GET /status", w.status)
	if w.profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/status", http.StatusFound))
	return mux
}

// ready answers 200 when the group is joined and no table has stopped, to be tried again or not, else 503. The body tells what is not well.
func (w *web) ready(rw http.ResponseWriter, _ *http.Request) {
	ready, problems := readiness(w.stats())
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ready {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
	if len(problems) == 0 {
		problems = []string{"ok"}
	}
	_, _ = fmt.Fprintln(rw, strings.Join(problems, "\n"))
}

// status answers with a page for a browser, with JSON for others.
func (w *web) status(rw http.ResponseWriter, r *http.Request) {
	s := statusOf(w.stats(), w.started, w.now())
	rw.Header().Set("Cache-Control", "no-store")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = statusPage.Execute(rw, struct {
			status
			Now time.Time
		}{s, w.now()})
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(rw)
	enc.SetIndent("", "  ")
	_ = enc.Encode(s)
}

// serve answers on a listener until the context ends.
func (w *web) serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: w.handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

// humanBytes is a size for people.
func humanBytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}

// humanCount is a number with its thousands apart.
func humanCount(n int64) string {
	s := fmt.Sprint(n)
	start := len(s) % 3
	if n < 0 {
		return "-" + humanCount(-n)
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for i := start; i < len(s); i += 3 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s[i : i+3])
	}
	return b.String()
}

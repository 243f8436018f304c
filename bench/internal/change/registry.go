package change

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServeRegistry starts a schema registry on loopback that has the Avro schemas of a table, and returns its URL.
func ServeRegistry(ctx context.Context, columns []Column) (url string, stop func(), err error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: registry(columns), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // until Close, whose error tells nothing more
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil
}

// registry answers as a schema registry that has the Avro schemas of a table.
func registry(columns []Column) http.Handler {
	schemas := map[string]object{strconv.Itoa(keyID): avroKey(), strconv.Itoa(valueID): avroEnvelope(columns)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /schemas/ids/{id}", func(w http.ResponseWriter, r *http.Request) {
		schema, ok := schemas[r.PathValue("id")]
		if !ok {
			http.Error(w, `{"error_code":40403,"message":"Schema not found"}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		_, _ = w.Write(compact(object{{"schema", string(compact(schema))}}))
	})
	return mux
}

package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/term"

	"sink/config"
)

// newLogger returns the process's logger on w.
func newLogger(w io.Writer, cfg config.Log) zerolog.Logger {
	level, err := zerolog.ParseLevel(cfg.Level)
	if err != nil {
		level = zerolog.InfoLevel
	}
	if forConsole(cfg, w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000", NoColor: !isTerminal(w)}
	}
	return zerolog.New(zerolog.SyncWriter(w)).Level(level).With().Timestamp().Logger()
}

// logFailure tells why the service ended as lines of its log where that is JSON: whoever reads it expects nothing else there.
// What is wrong with the configuration is text, as it is where not even the log's format could be read.
func logFailure(logger zerolog.Logger, cfg config.Log, w io.Writer, err error) error {
	if _, misused := errors.AsType[*usageError](err); err == nil || misused || forConsole(cfg, w) {
		return err
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		logger.Error().Str(zerolog.ErrorFieldName, line).Msg("run failed")
	}
	return &loggedError{err}
}

// forConsole reports whether a log on w is for a person to read.
func forConsole(cfg config.Log, w io.Writer) bool {
	return cfg.Format == "console" || cfg.Format == "auto" && isTerminal(w)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// kafkaLogger passes the Kafka client's own lines on, one level lower: what matters of them the connector says itself.
type kafkaLogger struct{ log zerolog.Logger }

// Level tells the client what is worth making.
func (l kafkaLogger) Level() kgo.LogLevel {
	switch {
	case l.log.GetLevel() <= zerolog.DebugLevel:
		return kgo.LogLevelInfo
	case l.log.GetLevel() <= zerolog.InfoLevel:
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelError
}

// Log prints one line of the client.
func (l kafkaLogger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	e := l.log.Debug()
	switch level {
	case kgo.LogLevelError:
		e = l.log.Warn()
	case kgo.LogLevelWarn:
		e = l.log.Info()
	}
	for i := 0; i+1 < len(keyvals); i += 2 {
		key, ok := keyvals[i].(string)
		if !ok {
			continue
		}
		switch v := keyvals[i+1].(type) {
		case error:
			e = e.AnErr(key, v)
		case time.Duration:
			e = e.Stringer(key, v)
		default:
			e = e.Interface(key, v)
		}
	}
	e.Str("from", "kafka client").Msg(msg)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"sink/config"
	"sink/connector"
	"sink/table/object"
)

func (a *app) runCommand() *cobra.Command {
	var (
		file     string
		untilEnd bool
		profiles bool
	)
	cmd := a.command(&cobra.Command{
		Use:   "run",
		Short: "Run the service: topics into tables, until it is told to stop",
		Long: `Run the service: read the topics and keep the tables up to date.

SIGTERM or Ctrl-C stops it gracefully: what was read is committed within shutdown-timeout, then it exits with 0. A second signal
ends it at once; nothing is lost then either, the next run reads the records again. Several instances with the same
configuration share the work.

A table that meets a record it cannot take stops there, by policy, and the others go on. With on-table-failure: retry it is tried
again now and then. The process exits with 1 when it ends while a table has stopped, or when all have and none is tried again.

With --until-end it exits with 0 once all that was on the topics at the start is in snapshots and the group's offsets are
committed. Told to stop before that, it commits what it has read, says so and exits with 1: run it again for the rest.`,
		Example: `  sink run -c sink.yaml
  sink run -c sink.yaml --until-end      # catch up, commit, exit`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			s := &service{cfg: cfg, untilEnd: untilEnd, profiles: profiles, log: newLogger(a.stderr, cfg.Log)}
			return logFailure(s.log, cfg.Log, a.stderr, s.run(cmd.Context()))
		},
	})
	addConfigFlag(cmd, &file)
	cmd.Flags().BoolVar(&untilEnd, "until-end", false, "stop once all that was on the topics at the start is committed")
	cmd.Flags().BoolVar(&profiles, "pprof", false, "serve profiles of the process at /debug/pprof/ of the http address")
	return cmd
}

// addConfigFlag adds -c with its default.
func addConfigFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "sink.yaml", "configuration file")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// service is all parts of one running sink.
type service struct {
	cfg      *config.Config
	untilEnd bool
	profiles bool // serve /debug/pprof/
	log      zerolog.Logger

	// The demo looks on: listening is called with the status server's address, started with the connector before it runs.
	listening func(address string)
	started   func(*connector.Connector)
}

// run builds the parts, runs them until the context ends or the work is done, and waits for all.
func (s *service) run(ctx context.Context) error {
	limitMemory(int64(s.cfg.Memory), s.log)
	settings, err := connectorConfig(s.cfg, s.log)
	if err != nil {
		return err
	}
	if settings.Store, err = openStore(ctx, s.cfg, s.log); err != nil {
		return err
	}
	settings.UntilEnd = s.untilEnd
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	c, err := connector.New(settings)
	if err != nil {
		return errors.Join(err, closeListener(listener))
	}
	stopWeb := s.serve(listener, c)
	if s.started != nil {
		s.started(c)
	}
	s.log.Info().Str("version", versionOf()).Str("warehouse", s.cfg.Warehouse).Strs("brokers", s.cfg.Kafka.Brokers).
		Str("group", s.cfg.Kafka.Group).Int("mappings", len(s.cfg.Tables)).Bool("until_end", s.untilEnd).Msg("started")
	quiet := s.tellStop(ctx)
	err = c.Run(ctx)
	quiet()
	if webErr := stopWeb(); webErr != nil {
		s.log.Error().Err(webErr).Msg("the status server ended early")
	}
	if err == nil {
		s.log.Info().Msg("stopped")
	}
	return err
}

// tellStop logs that the process was told to stop, and how long that may take. The function returned ends that, and waits.
func (s *service) tellStop(ctx context.Context) (quiet func()) {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		s.log.Info().Stringer("shutdown_timeout", s.cfg.ShutdownTimeout).Msg("stopping after a last checkpoint; a second signal ends it at once")
	})
	return func() {
		if !stop() {
			<-told
		}
	}
}

// listen opens the port of metrics and health, if there is to be one, so that a taken port is told before anything starts.
func (s *service) listen(ctx context.Context) (net.Listener, error) {
	if s.cfg.HTTP == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.cfg.HTTP)
	if err != nil {
		return nil, fmt.Errorf("http: %w; set `http:` to a free address, or leave it out", err)
	}
	return l, nil
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// serve starts the status server. The function returned stops it and waits; the server outlives the context of the run, so
// that the last checkpoint can be watched.
func (s *service) serve(l net.Listener, c *connector.Connector) (stop func() error) {
	if l == nil {
		return func() error { return nil }
	}
	w := &web{stats: c.Stats, now: time.Now, started: time.Now(), profiles: s.profiles}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.serve(ctx, l) }()
	s.log.Info().Str("address", l.Addr().String()).Msg("metrics, health and status")
	if s.listening != nil {
		s.listening(l.Addr().String())
	}
	return func() error {
		cancel()
		return <-done
	}
}

// openStore opens the warehouse and sees that it keeps what commits rest on.
func openStore(ctx context.Context, cfg *config.Config, logger zerolog.Logger) (object.Store, error) {
	store, err := object.Open(ctx, cfg.Warehouse, s3Config(cfg.S3))
	if err != nil {
		return nil, err
	}
	err = object.Probe(ctx, store)
	if errors.Is(err, object.ErrNoConditionalCreate) {
		if !cfg.SingleWriter {
			return nil, fmt.Errorf("warehouse %s: %w (If-None-Match): two writers would overwrite each other's snapshots; use a store that has it, or set `single-writer: true` if no other process ever writes these tables", cfg.Warehouse, err)
		}
		logger.Warn().Msg("the store has no conditional create; single-writer says that nobody else writes the tables")
		return store, nil
	}
	if err != nil {
		return nil, fmt.Errorf("warehouse %w", unusable(cfg, err))
	}
	return store, nil
}

// unusable says what a user can do about a warehouse that cannot be written.
func unusable(cfg *config.Config, err error) error {
	if folder, ok := strings.CutPrefix(cfg.Warehouse, "file://"); ok {
		return fmt.Errorf("%s: %w; make folder %s one that this user may write, or correct `warehouse:`", cfg.Warehouse, err, folder)
	}
	return fmt.Errorf("%s: %w", cfg.Warehouse, err)
}

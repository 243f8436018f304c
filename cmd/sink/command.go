package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitMisuse = 2
)

const exitCodes = `Exit codes: 0 done, 1 failed, 2 misused (flags, arguments or the configuration file).`

// usageError is a mistake in what the user typed: flags, arguments or the configuration file.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misuse marks an error as the user's.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func misusef(format string, args ...any) error { return misuse(fmt.Errorf(format, args...)) }

// loggedError has been told in the log.
type loggedError struct{ error }

func (e *loggedError) Unwrap() error { return e.error }

// app is what the commands share: where they read and print.
type app struct {
	stdin  io.Reader
	stdout io.Writer // results
	stderr io.Writer // logs and errors

	begun bool // the command line was understood, and the command has begun
}

// Run runs one command line and returns the exit code. It ends early when the context does; `run` then stops gracefully.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	if _, logged := errors.AsType[*loggedError](err); !logged {
		fmt.Fprintf(stderr, "sink: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nsink: "))
	}
	if _, misused := errors.AsType[*usageError](err); !misused && a.begun {
		return exitFailed
	}
	if !a.begun {
		fmt.Fprintf(stderr, "See `%s --help`.\n", cmd.CommandPath())
	}
	return exitMisuse
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sink",
		Short: "Debezium change events from Kafka into Apache Paimon tables, exactly once",
		Long: `sink reads the change events that Debezium puts on Kafka topics and keeps Apache Paimon primary-key tables up to date with
them, each with a changelog that streaming readers can trust.

` + exitCodes,
		Example: `  sink demo                                   # nothing to install: see it work
  sink check -c sink.yaml                     # would run start?
  sink run -c sink.yaml                       # the service
  sink read shop.orders -c sink.yaml          # rows, as a batch reader sees them
  sink changelog shop.orders -c sink.yaml     # changes, as a streaming reader sees them`,
		Version:           versionOf(),
		Args:              knownCommand,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(a.runCommand(), a.checkCommand(), a.demoCommand(), a.readCommand(), a.changelogCommand(), a.inspectCommand(), a.offsetsCommand(),
		a.compactCommand(), a.rescaleCommand(), a.expireCommand(), a.orphansCommand(), a.tagCommand(), a.verifyCommand(), a.versionCommand())
	return root
}

// command completes a subcommand: its help names the exit codes, and the app knows when it begins.
func (a *app) command(cmd *cobra.Command) *cobra.Command {
	cmd.Long = strings.TrimSpace(cmd.Long) + "\n\n" + exitCodes
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.begun = true
		return run(cmd, args)
	}
	return cmd
}

// oneTable wants one argument, the table.
func oneTable(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("name one table, as database.table")
	}
	return nil
}

// tableOrAll wants a table, or nothing for all of them.
func tableOrAll(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("name one table, as database.table, or none for all")
	}
	return nil
}

// noArguments wants flags alone.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is too much: %s takes no arguments, only flags", args[0], cmd.Name())
	}
	return nil
}

// knownCommand refuses what is no command, and names those that look like it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("there is no command %q%s", args[0], hint)
}

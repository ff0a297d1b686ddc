// Package cli is the command registry, but for what stores of images it can open beside a
// directory: impl/registry/cloud has the same with buckets.
package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/spf13/cobra"
)

// Opener opens a store of images that an URL names.
type Opener func(ctx context.Context, u *url.URL) (objects.Store, error)

// Exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMissing = 3 // no checkpoint can be used and the journal is not whole
	exitForeign = 4 // checkpoints are of another journal, or the journal lost its tail
)

// Main runs the command and returns the exit code. openers are by scheme.
func Main(openers map[string]Opener, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := (&command{openers: openers}).root()
	root.SetArgs(normalise(root, args))
	return code(root.ExecuteContext(ctx))
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "registry",
		Short: "A schema registry that is fed by a journal and starts from checkpoints",
		Long: `A schema registry that is fed by a journal and starts from checkpoints.
Flags may be given with one dash or with two.

Exit codes: 0 done, 1 it failed, 2 usage, 3 no checkpoint can be used and the journal is
not whole, 4 the journal is not that of the checkpoints.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: subcommand, RunE: needsSubcommand,
	}
	root.AddCommand(c.run(), c.checkpoint(), c.restore(), c.trim(), c.judge())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return root
}

// subcommand refuses what is no command below one.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		text += ", did you mean " + strings.Join(like, " or ") + "?"
	}
	return usageError{errors.New(text)}
}

func needsSubcommand(cmd *cobra.Command, _ []string) error {
	return errors.Join(cmd.Help(), usageError{fmt.Errorf("%s: a command must be given", cmd.CommandPath())})
}

// noArgs refuses arguments that are no flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument, and %q was given", cmd.CommandPath(), args[0])}
	}
	return nil
}

// normalise lets flags be written with one dash, as those of quorate and kraftd are.
func normalise(root *cobra.Command, args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, ok := strings.CutPrefix(arg, "-")
		if name, _, _ = strings.Cut(name, "="); ok && len(name) > 1 && known(root, name) {
			args[i] = "-" + arg
		}
	}
	return args
}

// known says whether a command, or one below it, has a flag.
func known(c *cobra.Command, flag string) bool {
	return flag == "help" || c.Flags().Lookup(flag) != nil ||
		slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return known(sub, flag) })
}

// usageError is a mistake in the arguments.
type usageError struct{ error }

func code(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "registry:", err)
	var missing *checkpoint.MissingError
	var hole *journal.HoleError
	switch {
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, &missing), errors.As(err, &hole):
		return exitMissing
	case errors.Is(err, checkpoint.ErrForeign):
		return exitForeign
	}
	return exitFailed
}

type command struct{ openers map[string]Opener }

// store opens where images are: a directory, or an URL of a scheme that is known.
func (c *command) store(ctx context.Context, where string) (objects.Store, error) {
	if where == "" {
		return nil, nil
	}
	if scheme, _, ok := strings.Cut(where, "://"); ok {
		u, err := url.Parse(where)
		if err != nil {
			return nil, usageError{err}
		}
		open := c.openers[scheme]
		if open == nil {
			return nil, usageError{fmt.Errorf("--objects %s: this command opens directories only; impl/registry/cloud has one that opens buckets", where)}
		}
		return open(ctx, u)
	}
	return objects.NewDir(where)
}

// needStore is store where there must be one, with images in it: none is made.
func (c *command) needStore(ctx context.Context, where string) (objects.Store, error) {
	if where == "" {
		return nil, usageError{errors.New("--objects must be given")}
	}
	if !strings.Contains(where, "://") {
		if info, err := os.Stat(where); err != nil {
			return nil, fmt.Errorf("--objects: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("--objects %s: not a directory", where)
		}
	}
	return c.store(ctx, where)
}

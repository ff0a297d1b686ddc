package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/spf13/cobra"
)

func (c *command) checkpoint() *cobra.Command {
	parent := &cobra.Command{Use: "checkpoint", Short: "Make, list and verify checkpoints", Args: subcommand, RunE: needsSubcommand}
	var base, where string
	now := &cobra.Command{
		Use: "now", Short: "Have an instance make a checkpoint, and wait for it", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var made checkpoint.Commit
			if err := ask(cmd.Context(), http.MethodPost, base+"/checkpoints", &made); err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), []checkpoint.Commit{made}, nil)
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List checkpoints: those that an instance knows or, with --objects, those beside their images", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, _, err := c.commits(cmd.Context(), base, where)
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), all, nil)
		},
	}
	verify := &cobra.Command{
		Use: "verify", Short: "Read every image as a start would, and say what is wrong with it", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, store, err := c.commits(cmd.Context(), "", where)
			if err != nil {
				return err
			}
			m, done, err := manager(store)
			if err != nil {
				return err
			}
			defer done()
			bad := 0
			verdicts := make([]string, len(all))
			for i, k := range all {
				verdicts[i] = "good"
				if err := m.Verify(cmd.Context(), k); err != nil {
					verdicts[i] = err.Error()
					bad++
				}
			}
			if err := table(cmd.OutOrStdout(), all, verdicts); err != nil {
				return err
			}
			if len(all) == 0 {
				return fmt.Errorf("--objects %s: there is no image", where)
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d images cannot be used", bad, len(all))
			}
			return nil
		},
	}
	for _, cmd := range []*cobra.Command{now, list} {
		cmd.Flags().StringVar(&base, "url", "http://127.0.0.1:8081", "URL of an instance")
	}
	for _, cmd := range []*cobra.Command{list, verify} {
		cmd.Flags().StringVar(&where, "objects", "", "where images are")
	}
	parent.AddCommand(now, list, verify)
	return parent
}

func (c *command) restore() *cobra.Command {
	var where, to, id string
	cmd := &cobra.Command{
		Use: "restore --to FILE", Short: "Write the newest good image, or one by its id, to a file of SQLite", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usageError{errors.New("--to must be given")}
			}
			if _, err := os.Stat(to); err == nil {
				return fmt.Errorf("%s exists: it is not overwritten", to)
			}
			all, store, err := c.commits(cmd.Context(), "", where)
			if err != nil {
				return err
			}
			m, done, err := manager(store)
			if err != nil {
				return err
			}
			defer done()
			checkpoint.DefaultRules().Order(all)
			var reasons []error
			for _, k := range all {
				if id != "" && k.ID != id {
					continue
				}
				if err := m.Export(cmd.Context(), k, to); err != nil {
					reasons = append(reasons, fmt.Errorf("checkpoint %s: %w", k.ID, err))
					continue
				}
				return table(cmd.OutOrStdout(), []checkpoint.Commit{k}, nil)
			}
			return errors.Join(append(reasons, errors.New("there is no image to restore"))...)
		},
	}
	cmd.Flags().StringVar(&where, "objects", "", "where images are")
	cmd.Flags().StringVar(&to, "to", "", "file to write, which must not exist")
	cmd.Flags().StringVar(&id, "id", "", "checkpoint to restore; none: the one with the greatest offset that is good")
	return cmd
}

func (c *command) trim() *cobra.Command {
	var base string
	var dry bool
	cmd := &cobra.Command{
		Use: "trim", Short: "Trim the journal up to what the images that are kept cover, all of which are read before", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var t checkpoint.Trimmed
			if err := ask(cmd.Context(), http.MethodPost, fmt.Sprintf("%s/trim?dryRun=%t", base, dry), &t); err != nil {
				return err
			}
			verb := "is trimmed"
			if dry {
				verb = "would be trimmed"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the journal began at offset %d and %s to %d, which these cover:\n", t.Start, verb, max(t.To, t.Start))
			return table(cmd.OutOrStdout(), t.Kept, nil)
		},
	}
	cmd.Flags().StringVar(&base, "url", "http://127.0.0.1:8081", "URL of an instance")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	return cmd
}

// commits are those of a store or, without one, of an instance.
func (c *command) commits(ctx context.Context, base, where string) ([]checkpoint.Commit, objects.Store, error) {
	if where == "" && base != "" {
		var all []checkpoint.Commit
		err := ask(ctx, http.MethodGet, base+"/checkpoints", &all)
		return all, nil, err
	}
	store, err := c.needStore(ctx, where)
	if err != nil {
		return nil, nil, err
	}
	all, err := checkpoint.Manifests(ctx, store, "images/")
	return all, store, err
}

// manager is one that only reads.
func manager(store objects.Store) (*checkpoint.Manager, func(), error) {
	dir, err := os.MkdirTemp("", "registry-")
	if err != nil {
		return nil, nil, err
	}
	return &checkpoint.Manager{Objects: store, Rules: checkpoint.DefaultRules(), Dir: dir, Schema: state.SchemaVersion, Now: time.Now},
		func() { os.RemoveAll(dir) }, nil
}

// ask asks an instance.
func ask(ctx context.Context, method, url string, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return usageError{err}
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, 16<<20))
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, a.Status, strings.TrimSpace(string(b)))
	}
	return json.Unmarshal(b, v)
}

func table(w io.Writer, all []checkpoint.Commit, verdicts []string) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "OFFSET\tEPOCH\tCHECKPOINT\tTIME\tROWS\tRAW\tSTORED\tCAPTURE\tUPLOAD")
	if verdicts != nil {
		fmt.Fprint(t, "\tVERDICT")
	}
	fmt.Fprintln(t)
	for i, c := range all {
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%d\t%d\t%d\t%s\t%s", c.Offset, c.Epoch, c.ID, time.UnixMilli(c.Time).UTC().Format(time.RFC3339),
			c.Rows, c.Raw, c.Size, c.Capture.Round(time.Microsecond), c.Upload.Round(time.Microsecond))
		if verdicts != nil {
			fmt.Fprint(t, "\t", verdicts[i])
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

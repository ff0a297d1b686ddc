package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Groups of commands, as help lists them.
const (
	groupModels = "models"
	groupRuns   = "runs"
	groupOther  = "other"
)

var groups = []*cobra.Group{
	{ID: groupModels, Title: "Ask models:"},
	{ID: groupRuns, Title: "Judge recorded runs:"},
	{ID: groupOther, Title: "And:"},
}

// commands are all commands, each in its group. A new one is a line here, and a file
// of its own.
var commands = []struct {
	group string
	make  func() *cobra.Command
}{
	{groupModels, newCheck},
	{groupModels, newLive},
	{groupModels, newFind},
	{groupModels, newDiff},
	{groupModels, newWhy},
	{groupModels, newSimulate},
	{groupModels, newGraph},
	{groupModels, newReplay},
	{groupModels, newModels},
	{groupModels, newBugs},
	{groupModels, newProve},
	{groupRuns, newTraceCommand},
	{groupRuns, newHistoryCommand},
	{groupRuns, newDefects},
	{groupOther, newVersion},
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quorate",
		Short: "Explore executable specifications",
		Long: `Explore executable specifications: every reachable state of small models, with the
shortest counterexample where a property does not hold.

Exit codes: 0 it holds, 1 it is violated, 2 the question is malformed, or a file cannot be
read or written, 3 a limit was reached before the end.`,
		Example: `  quorate models
  quorate check -model figure8
  quorate check -mutate KAFKA-12619 -format html -o bug.html
  quorate find -model election 'count(replicas, .role == "Leader") > 1'`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.AddGroup(groups...)
	cmd.SetHelpCommandGroupID(groupOther)
	cmd.SetCompletionCommandGroupID(groupOther)
	for _, c := range commands {
		sub := c.make()
		sub.GroupID = c.group
		cmd.AddCommand(sub)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	return cmd
}

// strict has all commands refuse what is no command. It comes when the outputs are set, since
// those of cobra that it adds keep theirs.
func strict(cmd *cobra.Command) {
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	for _, sub := range cmd.Commands() {
		refuseOthers(sub)
		if sub.Name() == "help" {
			sub.Args = topic
		}
	}
}

// flagError says what is wrong with the value of a flag without the words of strconv.
func flagError(err error) error {
	var number *strconv.NumError
	about, _, ok := strings.Cut(err.Error(), ": strconv.")
	if !ok || !errors.As(err, &number) {
		return err
	}
	want := map[string]string{
		"ParseInt": "a whole number", "Atoi": "a whole number", "ParseUint": "a whole number from 0",
		"ParseFloat": "a number", "ParseBool": "true or false",
	}[number.Func]
	if errors.Is(number, strconv.ErrRange) {
		want += ", not so large"
	}
	return fmt.Errorf("%s: want %s", about, want)
}

// topic refuses to help with what is no command.
func topic(cmd *cobra.Command, args []string) error {
	if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
		return fmt.Errorf("help: there is no command %q", strings.Join(args, " "))
	}
	return nil
}

// refuseOthers has a command that only groups others, and such below it, refuse what is
// none of them. Of itself such a command prints its help and does nothing, as if it had been
// asked for that.
func refuseOthers(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseOthers(sub)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args, cmd.FParseErrWhitelist.UnknownFlags = cobra.ArbitraryArgs, true // flags of whatever was meant
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var known []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				known = append(known, sub.Name())
			}
		}
		if len(args) == 0 {
			return fmt.Errorf("%s: which command? Known: %s", cmd.CommandPath(), strings.Join(known, ", "))
		}
		return unknown("command", args[0], known)
	}
}

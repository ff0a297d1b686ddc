package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// deepSamples is how many states -deep draws for each proof.
const deepSamples = 3_000_000

type proveFlags struct {
	samples int
	deep    bool
	seed    uint64
	workers int
	json    bool
	list    bool
	step    string
	without string
	mutate  string
	guard   string
	profile profileFlag
}

func newProve() *cobra.Command {
	var f proveFlags
	cmd := &cobra.Command{
		Use:   "prove [PROOF]...",
		Short: "Try the steps of the proofs of docs/proofs",
		Long: `Try the steps of the proofs of docs/proofs, all or those that are named.

Each is by an inductive invariant. States are drawn that satisfy it, reachable or not,
and every step of every action from them must keep it; initial states must satisfy it,
and the theorem must follow from it. Lemmas are tried in every case of a small domain.
Then each conjunct is left out, and it is looked for what fails without it.

What is drawn is decided by -seed, and does not depend on -workers. That no step fails
is evidence, not proof: the argument for all states is the text.`,
		Example: `  quorate prove
  quorate prove commit-safety -mutate KAFKA-12619
  quorate prove leader-completeness -without VotedForIsDurable
  quorate prove -list`,
		ValidArgs: proofNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.profile.run(func() error { return f.prove(cmd, args) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.samples, "samples", checker.DefaultSamples, "states drawn for each proof")
	flags.BoolVar(&f.deep, "deep", false, fmt.Sprintf("draw %d states for each proof", deepSamples))
	flags.Uint64Var(&f.seed, "seed", 1, "decides what is drawn")
	flags.IntVar(&f.workers, "workers", 0, "goroutines that try states (default: one for each core)")
	flags.BoolVar(&f.json, "json", false, "write JSON, one line for each proof")
	flags.BoolVar(&f.list, "list", false, "list the steps of the proofs, and what breaks each, and try nothing")
	flags.StringVar(&f.step, "step", "", "stop as soon as this step fails, and judge nothing else")
	flags.StringVar(&f.without, "without", "", "show what fails without this conjunct of an invariant")
	flags.StringVar(&f.mutate, "mutate", "", "try the steps with this mutation of the protocol")
	flags.StringVar(&f.guard, "drop-guard", "", "try the steps without this guard, named as Action.Guard")
	cmd.MarkFlagsMutuallyExclusive("samples", "deep")
	cmd.MarkFlagsMutuallyExclusive("step", "without")
	complete(cmd, "mutate", completeProofMutations)
	complete(cmd, "drop-guard", completeGuards)
	f.profile.register(cmd)
	return cmd
}

func completeProofMutations(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, mutations := range [][]spec.Mutation{spec.Mutations, spec.ProofMutations} {
		for i := range mutations {
			list = append(list, mutations[i].ID+"\t"+mutations[i].Title)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func proofNames() []string {
	var names []string
	for _, p := range spec.Proofs(spec.Variant{}) {
		names = append(names, p.Name)
	}
	return names
}

// variant reads the mutation, which may be one that only proofs know, and the guard.
func (f *proveFlags) variant() (spec.Variant, error) {
	v, err := kraftVariant(Variant{DropGuard: f.guard})
	if err != nil || f.mutate == "" {
		return v, err
	}
	mu, ok := spec.ProofMutationNamed(f.mutate)
	if !ok {
		var ids []string
		for _, list := range [][]spec.Mutation{spec.Mutations, spec.ProofMutations} {
			for i := range list {
				ids = append(ids, list[i].ID)
			}
		}
		return v, unknown("mutation", f.mutate, ids)
	}
	v.Mutation = mu
	return v, nil
}

// chosen are the proofs that are named, all if none is, and that have the step that
// is asked for.
func (f *proveFlags) chosen(v spec.Variant, names []string) ([]checker.Proof[spec.ProofState], error) {
	for _, n := range names {
		if !slices.Contains(proofNames(), n) {
			return nil, unknown("proof", n, proofNames())
		}
	}
	step := f.step + f.without
	var known []string
	var list []checker.Proof[spec.ProofState]
	for _, p := range spec.Proofs(v) {
		if len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		steps := p.StepNames()
		known = append(known, steps...)
		if step == "" || slices.Contains(steps, step) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, unknown("step", step, known)
	}
	return list, nil
}

func (f *proveFlags) prove(cmd *cobra.Command, names []string) error {
	switch {
	case f.samples < 1:
		return fmt.Errorf("-samples %d: want a number from 1", f.samples)
	case f.workers < 0:
		return fmt.Errorf("-workers %d: want a number from 1, or 0 for one for each core", f.workers)
	case f.deep:
		f.samples = deepSamples
	}
	v, err := f.variant()
	if err != nil {
		return err
	}
	proofs, err := f.chosen(v, names)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.list {
		return listProofs(out, proofs)
	}
	code := exitHolds
	for i := range proofs {
		o := checker.ProveOptions{Context: cmd.Context(), Samples: f.samples, Seed: f.seed, Workers: f.workers, Only: f.step}
		r, err := checker.Prove(&proofs[i], o)
		if err != nil {
			return err
		}
		if i > 0 && !f.json {
			fmt.Fprintln(out)
		}
		switch {
		case f.json:
			err = json.NewEncoder(out).Encode(proofReport{f.mutate, f.guard, f.samples, f.seed, r})
		case f.without != "":
			err = r.WriteWithout(out, r.Step(f.without))
		default:
			err = r.WriteText(out)
		}
		if err != nil {
			return err
		}
		code = worseProof(code, r.ExitCode())
	}
	if code != exitHolds {
		return verdict(code)
	}
	return nil
}

// worseProof is the exit code of two proofs: a step that fails says more than one that was
// not tried, and that more than a run that was stopped.
func worseProof(a, b int) int {
	for _, code := range []int{exitViolated, exitUsage, exitLimit} {
		if a == code || b == code {
			return code
		}
	}
	return exitHolds
}

// proofReport is a result as JSON, with what was asked.
type proofReport struct {
	Mutation  string `json:"mutation,omitempty"`
	DropGuard string `json:"drop_guard,omitempty"`
	Samples   int    `json:"samples"`
	Seed      uint64 `json:"seed"`
	*checker.ProofResult
}

func listProofs(w io.Writer, proofs []checker.Proof[spec.ProofState]) error {
	tw := checker.NewColumns(w)
	for i := range proofs {
		p := &proofs[i]
		if i > 0 {
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "%s: %s\n", p.Name, p.Doc)
		for _, s := range p.StepFacts() {
			breaks := ""
			for j := range spec.ProofBreaks {
				if b := &spec.ProofBreaks[j]; b.Proof == p.Name && b.Step == s.Name && breaks == "" {
					breaks = b.String()
				}
			}
			fmt.Fprintf(tw, "  %s\t%s\t%s\n", s.Name, breaks, s.Doc)
		}
	}
	return tw.Flush()
}

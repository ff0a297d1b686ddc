package main

import (
	"fmt"
	"strings"
)

// model is one size of one of the two protocols.
type model struct {
	name, module string
	// sizes: resource managers; or servers and terms.
	n, terms int
	// What every checker must count: states, and steps between them.
	distinct, steps uint64
}

// models with their counts, which rumur and Spin agree on, and TLC for the first two.
var models = []model{
	{"elect3_3", "Elect", 3, 3, 194_179, 639_858},
	{"2pc7", "TwoPhase", 7, 0, 296_448, 2_744_705},
	{"elect3_4", "Elect", 3, 4, 5_881_161, 19_725_699},
	{"2pc9", "TwoPhase", 9, 0, 10_340_352, 123_558_401},
}

// text is one input file, built by lines.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (m *model) murphi() string {
	if m.terms == 0 {
		return m.murphiTwoPhase()
	}
	return m.murphiElect()
}

func (m *model) promela() string {
	if m.terms == 0 {
		return m.promelaTwoPhase()
	}
	return m.promelaElect()
}

func (m *model) config() string {
	var t text
	t.line("SPECIFICATION Spec")
	t.line("CHECK_DEADLOCK FALSE")
	var names []string
	letter, set := "r", "RM"
	if m.terms > 0 {
		letter, set = "s", "Server"
		t.line("INVARIANT OneLeaderPerTerm")
		t.line("CONSTANT Nil = Nil")
		t.line("CONSTANT MaxTerm = %d", m.terms)
	} else {
		t.line("INVARIANT Consistent")
	}
	for i := range m.n {
		name := fmt.Sprintf("%s%d", letter, i+1)
		t.line("CONSTANT %s = %s", name, name)
		names = append(names, name)
	}
	t.line("CONSTANT %s = {%s}", set, strings.Join(names, ", "))
	return t.String()
}

func (m *model) murphiTwoPhase() string {
	var t text
	t.line("const N: %d;", m.n)
	t.line(`type
  RM: 1..N;
  ST: enum {working, prepared, committed, aborted};
  TM: enum {tinit, tcommitted, taborted};
var
  rm: array [RM] of ST;
  tm: TM;
  tmPrep: array [RM] of boolean;
  mPrep: array [RM] of boolean;
  mCommit: boolean;
  mAbort: boolean;
startstate
  for r: RM do rm[r] := working; tmPrep[r] := false; mPrep[r] := false; end;
  tm := tinit; mCommit := false; mAbort := false;
end;
rule "TMCommit" tm = tinit & forall r: RM do tmPrep[r] end ==> tm := tcommitted; mCommit := true; end;
rule "TMAbort" tm = tinit ==> tm := taborted; mAbort := true; end;
ruleset r: RM do
  rule "TMRcvPrepared" tm = tinit & mPrep[r] ==> tmPrep[r] := true; end;
  rule "RMPrepare" rm[r] = working ==> rm[r] := prepared; mPrep[r] := true; end;
  rule "RMChooseToAbort" rm[r] = working ==> rm[r] := aborted; end;
  rule "RMRcvCommit" mCommit ==> rm[r] := committed; end;
  rule "RMRcvAbort" mAbort ==> rm[r] := aborted; end;
end;
invariant "Consistent"
  forall a: RM do forall b: RM do !(rm[a] = aborted & rm[b] = committed) end end;`)
	return t.String()
}

func (m *model) murphiElect() string {
	var t text
	t.line("const N: %d; T: %d;", m.n, m.terms)
	t.line(`type
  S: 1..N;
  TERM: 0..T;
  TR: 1..T;
  ROLE: enum {F, C, L};
var
  role: array [S] of ROLE;
  term: array [S] of TERM;
  voted: array [S] of S;
  votes: array [S] of array [S] of boolean;
  rv: array [TR] of array [S] of boolean;
  vr: array [TR] of array [S] of array [S] of boolean;
  hb: array [TR] of array [S] of boolean;
startstate
  for i: S do
    role[i] := F; term[i] := 0; undefine voted[i];
    for j: S do votes[i][j] := false; end;
  end;
  for t: TR do
    for i: S do
      rv[t][i] := false; hb[t][i] := false;
      for j: S do vr[t][i][j] := false; end;
    end;
  end;
end;
function quorum(i: S): boolean;
var n: 0..N;
begin
  n := 0;
  for j: S do if votes[i][j] then n := n + 1; end; end;
  return 2 * n > N;
end;
procedure wipe(i: S);
begin
  for j: S do votes[i][j] := false; end;
end;
ruleset i: S do
  rule "Timeout" role[i] != L & term[i] < T ==>
    term[i] := term[i] + 1; role[i] := C; voted[i] := i; wipe(i); votes[i][i] := true; rv[term[i]][i] := true;
  end;
  rule "BecomeLeader" role[i] = C & quorum(i) ==> role[i] := L; hb[term[i]][i] := true; end;
  rule "Restart" role[i] != F ==> role[i] := F; wipe(i); end;
  ruleset c: S; t: TR do
    rule "HandleVoteReq" i != c & rv[t][c] & (t > term[i] | (t = term[i] & isundefined(voted[i]))) ==>
      term[i] := t; role[i] := F; voted[i] := c; wipe(i); vr[t][i][c] := true;
    end;
    rule "HandleBeginEpoch" i != c & hb[t][c] & (t > term[i] | (t = term[i] & role[i] = C)) ==>
      if t > term[i] then undefine voted[i]; end;
      term[i] := t; role[i] := F; wipe(i);
    end;
  end;
  ruleset v: S do
    rule "HandleVoteRes" i != v & role[i] = C & term[i] > 0 & vr[term[i]][v][i] & !votes[i][v] ==> votes[i][v] := true; end;
  end;
end;
invariant "OneLeaderPerTerm"
  forall t: TR do forall a: S do forall b: S do hb[t][a] & hb[t][b] -> a = b end end end;`)
	return t.String()
}

// Sets are bits. The invariant is an assertion that each state can reach in a step,
// which is only enabled where it fails.
func (m *model) promelaTwoPhase() string {
	var t text
	t.line("/* rm: 0 working 1 prepared 2 committed 3 aborted; tm: 0 init 1 committed 2 aborted */")
	t.line("byte rm[%d]; byte tm; short tmPrep; short mPrep; bit mCommit; bit mAbort;", m.n)
	t.line("active proctype P() { do")
	t.line(":: d_step { tm == 0 && tmPrep == %d -> tm = 1; mCommit = 1 }", 1<<m.n-1)
	t.line(":: d_step { tm == 0 -> tm = 2; mAbort = 1 }")
	var aborted, committed []string
	for r := range m.n {
		bit := 1 << r
		t.line(":: d_step { tm == 0 && (mPrep & %d) -> tmPrep = tmPrep | %d }", bit, bit)
		t.line(":: d_step { rm[%d] == 0 -> rm[%d] = 1; mPrep = mPrep | %d }", r, r, bit)
		t.line(":: d_step { rm[%d] == 0 -> rm[%d] = 3 }", r, r)
		t.line(":: d_step { mCommit -> rm[%d] = 2 }", r)
		t.line(":: d_step { mAbort -> rm[%d] = 3 }", r)
		aborted = append(aborted, fmt.Sprintf("rm[%d] == 3", r))
		committed = append(committed, fmt.Sprintf("rm[%d] == 2", r))
	}
	t.line(":: d_step { (%s) && (%s) -> assert(0) }", strings.Join(aborted, " || "), strings.Join(committed, " || "))
	t.line("od }")
	return t.String()
}

func (m *model) promelaElect() string {
	var t text
	pairs := "short" // a set of pairs of servers
	if m.n > 3 {
		pairs = "int"
	}
	count := func(set string) string {
		var bits []string
		for k := range m.n {
			bits = append(bits, fmt.Sprintf("((%s >> %d) & 1)", set, k))
		}
		return strings.Join(bits, " + ")
	}
	t.line("/* role: 0 follower 1 candidate 2 leader; voted: 0 nil, i + 1 */")
	t.line("byte role[%d]; byte term[%d]; byte voted[%d]; byte votes[%d]; byte rv[%d]; byte hb[%d]; %s vr[%d];",
		m.n, m.n, m.n, m.n, m.terms, m.terms, pairs, m.terms)
	t.line("active proctype P() { do")
	for i := range m.n {
		t.line(":: d_step { role[%[1]d] != 2 && term[%[1]d] < %[2]d -> term[%[1]d] = term[%[1]d] + 1; role[%[1]d] = 1; voted[%[1]d] = %[3]d; votes[%[1]d] = %[4]d; rv[term[%[1]d] - 1] = rv[term[%[1]d] - 1] | %[4]d }",
			i, m.terms, i+1, 1<<i)
		t.line(":: d_step { role[%[1]d] == 1 && 2 * (%[2]s) > %[3]d -> role[%[1]d] = 2; hb[term[%[1]d] - 1] = hb[term[%[1]d] - 1] | %[4]d }",
			i, count(fmt.Sprintf("votes[%d]", i)), m.n, 1<<i)
		t.line(":: d_step { role[%[1]d] != 0 -> role[%[1]d] = 0; votes[%[1]d] = 0 }", i)
		for c := range m.n {
			if c == i {
				continue
			}
			for term := 1; term <= m.terms; term++ {
				t.line(":: d_step { (rv[%[1]d] & %[2]d) && (%[3]d > term[%[4]d] || (%[3]d == term[%[4]d] && voted[%[4]d] == 0)) -> term[%[4]d] = %[3]d; role[%[4]d] = 0; voted[%[4]d] = %[5]d; votes[%[4]d] = 0; vr[%[1]d] = vr[%[1]d] | %[6]d }",
					term-1, 1<<c, term, i, c+1, 1<<(i*m.n+c))
				t.line(":: d_step { (hb[%[1]d] & %[2]d) && (%[3]d > term[%[4]d] || (%[3]d == term[%[4]d] && role[%[4]d] == 1)) -> voted[%[4]d] = (%[3]d > term[%[4]d] -> 0 : voted[%[4]d]); term[%[4]d] = %[3]d; role[%[4]d] = 0; votes[%[4]d] = 0 }",
					term-1, 1<<c, term, i)
			}
			t.line(":: d_step { role[%[1]d] == 1 && (vr[term[%[1]d] - 1] & %[2]d) && !(votes[%[1]d] & %[3]d) -> votes[%[1]d] = votes[%[1]d] | %[3]d }",
				i, 1<<(c*m.n+i), 1<<c)
		}
	}
	for term := range m.terms {
		t.line(":: d_step { (%s) > 1 -> assert(0) }", count(fmt.Sprintf("hb[%d]", term)))
	}
	t.line("od }")
	return t.String()
}

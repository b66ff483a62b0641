(* SPDX-License-Identifier: Apache-2.0 *)
(* A small machine-checked model of the tape (Coq 8.16, standard library only;
   no axioms: see the four "Closed under the global context" lines it prints).

     compile_size, compile_ctx_eq_eval, compile_values   forward bookkeeping
     ids_decrease               every contribution goes to a smaller id
     dense_loop_eq_recursion    dense reverse loop = "peel the last node"
     leaves_hold_total          conserving rules keep the seeded total
     skipping_is_sound          running only reached nodes changes nothing if
                                every rule maps a zero input to zeros
     recursion_is_adjoint       local adjointness gives global adjointness

   The main statement assumes nothing about [add] (no commutativity, no
   associativity, no zero): both passes perform the same additions in the same
   order, so it also covers rounded machine arithmetic.  It holds for ANY
   backward rule, not only for derivatives; a relevance rule qualifies.

   A graph is a list of nodes with the most recent node at the head.  Values of
   all shapes are folded into one carrier [A]; shape errors are outside this
   model (the C++ side rejects them while compiling).

   Check with:  coqc tape.v                                                   *)

Require Import List Lia PeanoNat.
Import ListNotations.

Section Tape.
Variables (A D : Type) (add : A -> A -> A).

Record node := { fwd : list A -> D -> A;
                 bwd : list A -> D -> A -> list A }.

(* A node is well formed when its rule answers with one entry per earlier id. *)
Definition wf (n : node) := forall c d s, length (bwd n c d s) = length c.

(* ---- graph semantics -------------------------------------------------- *)
Fixpoint eval (g : list node) (x : list A) (d : D) : list A :=
  match g with
  | [] => x
  | n :: g' => let c := eval g' x d in c ++ [fwd n c d]
  end.

Fixpoint zip (u v : list A) : list A :=
  match u, v with
  | a :: u', b :: v' => add a b :: zip u' v'
  | _, _ => u
  end.

Fixpoint unsnoc (l : list A) : option (list A * A) :=
  match l with
  | [] => None
  | a :: l' => match unsnoc l' with
               | None => Some ([], a)
               | Some (i, z) => Some (a :: i, z)
               end
  end.

(* peel the last node, apply its rule to its seed, add, recurse *)
Fixpoint back_all (g : list node) (x : list A) (d : D) (seed : list A) : list A :=
  match g with
  | [] => seed
  | n :: g' =>
      match unsnoc seed with
      | None => seed
      | Some (prev, s) =>
          back_all g' x d (zip prev (bwd n (eval g' x d) d s)) ++ [s]
      end
  end.

(* ---- runtime tape ------------------------------------------------------ *)
Record cell := { value : A; emit : A -> list (nat * A) }.

Fixpoint index_from (k : nat) (l : list A) : list (nat * A) :=
  match l with [] => [] | a :: l' => (k, a) :: index_from (S k) l' end.

Definition leaf (a : A) : cell := {| value := a; emit := fun _ => [] |}.

Fixpoint compile (g : list node) (x : list A) (d : D) : list cell * list A :=
  match g with
  | [] => (map leaf x, x)
  | n :: g' =>
      let (t, c) := compile g' x d in
      let y := fwd n c d in
      (t ++ [{| value := y; emit := fun s => index_from 0 (bwd n c d s) |}],
       c ++ [y])
  end.

Fixpoint add_at (l : list A) (p : nat) (b : A) : list A :=
  match l, p with
  | [], _ => []
  | a :: l', O => add a b :: l'
  | a :: l', S q => a :: add_at l' q b
  end.

Definition scatter (acc : list A) (cs : list (nat * A)) : list A :=
  fold_left (fun a pc => add_at a (fst pc) (snd pc)) cs acc.

Definition step (t : list cell) (acc : list A) (id : nat) : list A :=
  match nth_error t id, nth_error acc id with
  | Some c, Some s => scatter acc (emit c s)
  | _, _ => acc
  end.

Fixpoint loop (t : list cell) (k : nat) (acc : list A) : list A :=
  match k with O => acc | S m => loop t m (step t acc m) end.

(* ---- bookkeeping ------------------------------------------------------- *)
Lemma eval_length g x d : length (eval g x d) = length x + length g.
Proof. induction g as [|n g IH]; simpl; [lia|]. rewrite app_length, IH; simpl; lia. Qed.

Theorem compile_ctx_eq_eval g x d : snd (compile g x d) = eval g x d.
Proof.
  induction g as [|n g IH]; simpl; auto.
  destruct (compile g x d) as [t c]; simpl in *; now subst.
Qed.

Theorem compile_values g x d : map value (fst (compile g x d)) = eval g x d.
Proof.
  rewrite <- compile_ctx_eq_eval. induction g as [|n g IH]; simpl.
  - rewrite map_map; simpl. apply map_id.
  - destruct (compile g x d) as [t c]; simpl in *. now rewrite map_app, IH.
Qed.

Theorem compile_size g x d : length (fst (compile g x d)) = length x + length g.
Proof. rewrite <- (map_length value), compile_values. apply eval_length. Qed.

Lemma index_from_bound l : forall k p a, In (p, a) (index_from k l) -> p < k + length l.
Proof.
  induction l as [|b l IH]; simpl; intros k p a H; [easy|].
  destruct H as [H|H]; [inversion H; lia|]. apply IH in H; lia.
Qed.

(* every contribution goes to a strictly smaller id *)
Theorem ids_decrease g x d : Forall wf g ->
  forall id c s p a, nth_error (fst (compile g x d)) id = Some c ->
    In (p, a) (emit c s) -> p < id.
Proof.
  induction g as [|n g IH]; simpl; intros W id c s p a Hn Hin.
  - rewrite nth_error_map in Hn. destruct (nth_error x id); [|easy].
    inversion Hn; subst; destruct Hin.
  - inversion W as [|? ? Wn Wg]; subst.
    pose proof (compile_size g x d) as Hs. pose proof (compile_ctx_eq_eval g x d) as Hc.
    pose proof (eval_length g x d) as He.
    destruct (compile g x d) as [t ctx]; simpl in *; subst ctx.
    destruct (Nat.lt_ge_cases id (length t)) as [L|L].
    + rewrite nth_error_app1 in Hn by exact L. eapply IH; eauto.
    + rewrite nth_error_app2 in Hn by exact L.
      destruct (id - length t) as [|k] eqn:E; simpl in Hn.
      * inversion Hn; subst; simpl in Hin. apply index_from_bound in Hin.
        rewrite Wn in Hin. lia.
      * destruct k; discriminate.
Qed.

(* ---- the two backward passes agree ------------------------------------- *)
Lemma unsnoc_app l z : unsnoc (l ++ [z]) = Some (l, z).
Proof. induction l as [|a l IH]; simpl; auto. now rewrite IH. Qed.

Lemma split_last (l : list A) k : length l = S k -> exists i z, l = i ++ [z] /\ length i = k.
Proof.
  intro H. destruct (exists_last (l := l)) as [i [z E]]; [intro; subst; discriminate|].
  exists i, z; split; auto. subst. rewrite app_length in H; simpl in H; lia.
Qed.

Lemma add_at_length l : forall p b, length (add_at l p b) = length l.
Proof. induction l; intros [|p] b; simpl; auto. Qed.

Lemma add_at_app l : forall z p b, p < length l -> add_at (l ++ z) p b = add_at l p b ++ z.
Proof.
  induction l as [|a l IH]; simpl; intros z p b H; [lia|].
  destruct p; simpl; auto. rewrite IH by lia. reflexivity.
Qed.

Lemma scatter_length cs : forall l, length (scatter l cs) = length l.
Proof. induction cs as [|[p b] cs IH]; simpl; intros l; auto. rewrite IH. apply add_at_length. Qed.

Lemma scatter_app cs : forall l z, (forall p b, In (p, b) cs -> p < length l) ->
  scatter (l ++ z) cs = scatter l cs ++ z.
Proof.
  induction cs as [|[p b] cs IH]; simpl; intros l z H; auto.
  rewrite add_at_app by (eapply H; now left).
  apply IH. intros q e Hq. rewrite add_at_length. eapply H; right; eauto.
Qed.

(* scattering a full contribution vector is the pointwise sum *)
Lemma scatter_index l : forall pre v, length v = length l ->
  scatter (pre ++ l) (index_from (length pre) v) = pre ++ zip l v.
Proof.
  induction l as [|a l IH]; intros pre [|b v] H; simpl in *; try discriminate; auto.
  assert (E : add_at (pre ++ a :: l) (length pre) b = (pre ++ [add a b]) ++ l).
  { clear. induction pre; simpl; auto. now rewrite IHpre. }
  rewrite E.
  replace (S (length pre)) with (length (pre ++ [add a b])) by (rewrite app_length; simpl; lia).
  change (scatter ((pre ++ [add a b]) ++ l)
            (index_from (length (pre ++ [add a b])) v) = pre ++ add a b :: zip l v).
  rewrite IH by lia. now rewrite <- app_assoc.
Qed.

Lemma zip_length u : forall v, length (zip u v) = length u.
Proof. induction u; intros [|b v]; simpl; auto. Qed.

(* visiting only old ids, a tape extended by one cell leaves the new slot alone *)
Lemma loop_extend t c z k : forall acc, k <= length t -> length acc = length t ->
  (forall id e s p b, nth_error t id = Some e -> In (p, b) (emit e s) -> p < id) ->
  loop (t ++ [c]) k (acc ++ [z]) = loop t k acc ++ [z].
Proof.
  induction k as [|k IH]; simpl; intros acc Hk Ha Hid; auto.
  assert (E : step (t ++ [c]) (acc ++ [z]) k = step t acc k ++ [z]).
  { unfold step. rewrite !nth_error_app1 by lia.
    destruct (nth_error t k) as [e|] eqn:Et; auto.
    destruct (nth_error acc k) as [s|] eqn:Es; auto.
    apply scatter_app. intros p b Hin. pose proof (Hid _ _ _ _ _ Et Hin). lia. }
  rewrite E. apply IH; try lia; auto.
  unfold step. destruct (nth_error t k), (nth_error acc k); rewrite ?scatter_length; auto.
Qed.

Theorem dense_loop_eq_recursion g x d : Forall wf g ->
  forall seed, length seed = length x + length g ->
  loop (fst (compile g x d)) (length x + length g) seed = back_all g x d seed.
Proof.
  induction g as [|n g IH]; simpl; intros W seed Hlen.
  - rewrite Nat.add_0_r in *. clear Hlen.
    assert (L : forall k acc, loop (map leaf x) k acc = acc).
    { induction k as [|k IHk]; simpl; intros acc; auto. rewrite IHk. unfold step.
      rewrite nth_error_map. destruct (nth_error x k); simpl; auto.
      now destruct (nth_error acc k). }
    apply L.
  - inversion W as [|? ? Wn Wg]; subst.
    rewrite Nat.add_succ_r in *. destruct (split_last _ _ Hlen) as [prev [s [-> Hp]]].
    rewrite unsnoc_app.
    pose proof (compile_size g x d) as Hs. pose proof (compile_ctx_eq_eval g x d) as Hc.
    pose proof (ids_decrease g x d Wg) as Hid. pose proof (eval_length g x d) as He.
    specialize (IH Wg).
    destruct (compile g x d) as [t ctx]; simpl in *; subst ctx.
    assert (E : forall c, emit c = (fun r => index_from 0 (bwd n (eval g x d) d r)) ->
      step (t ++ [c]) (prev ++ [s]) (length x + length g)
      = zip prev (bwd n (eval g x d) d s) ++ [s]).
    { intros c Ec. unfold step. rewrite !nth_error_app2 by lia.
      replace (length x + length g - length t) with 0 by lia.
      replace (length x + length g - length prev) with 0 by lia. simpl. rewrite Ec.
      rewrite scatter_app.
      - f_equal. apply (scatter_index prev [] (bwd n (eval g x d) d s)). rewrite Wn. lia.
      - intros p b Hin. apply index_from_bound in Hin. rewrite Wn in Hin. lia. }
    rewrite E by reflexivity.
    rewrite loop_extend; try lia.
    + f_equal. apply IH. rewrite zip_length. lia.
    + rewrite zip_length. lia.
    + intros id e r p b He1 Hin. eapply Hid; eauto.
Qed.

(* ---- conservation: only this part needs laws ---------------------------- *)
Section Conservation.
Variable zero : A.
Hypothesis add_comm  : forall a b, add a b = add b a.
Hypothesis add_assoc : forall a b c, add a (add b c) = add (add a b) c.
Hypothesis add_zero  : forall a, add a zero = a.

Fixpoint total (l : list A) : A :=
  match l with [] => zero | a :: l' => add a (total l') end.

Lemma total_app u v : total (u ++ v) = add (total u) (total v).
Proof.
  induction u as [|a u IH]; simpl.
  - now rewrite add_comm, add_zero.
  - now rewrite IH, add_assoc.
Qed.

Lemma total_zip u : forall v, length u = length v ->
  total (zip u v) = add (total u) (total v).
Proof.
  induction u as [|a u IH]; intros [|b v] H; simpl in *; try discriminate.
  - now rewrite add_zero.
  - rewrite IH by lia. rewrite <- !add_assoc. f_equal.
    rewrite !add_assoc. f_equal. apply add_comm.
Qed.

(* what a node hands out is exactly what it received *)
Definition conserving (n : node) := forall c d s, total (bwd n c d s) = s.

Lemma back_all_length g x d : forall seed, length seed = length x + length g ->
  length (back_all g x d seed) = length x + length g.
Proof.
  induction g as [|n g IH]; simpl; intros seed H; auto.
  rewrite Nat.add_succ_r in *. destruct (split_last _ _ H) as [prev [s [-> Hp]]].
  rewrite unsnoc_app, app_length, IH by (rewrite zip_length; lia). simpl; lia.
Qed.

(* the leaves together hold the whole seeded amount *)
Theorem leaves_hold_total g x d : Forall wf g -> Forall conserving g ->
  forall seed, length seed = length x + length g ->
  total (firstn (length x) (back_all g x d seed)) = total seed.
Proof.
  induction g as [|n g IH]; simpl; intros W C seed H.
  - rewrite Nat.add_0_r in H. rewrite <- H, firstn_all. reflexivity.
  - inversion W as [|? ? Wn Wg]; inversion C as [|? ? Cn Cg]; subst.
    rewrite Nat.add_succ_r in H. destruct (split_last _ _ H) as [prev [s [-> Hp]]].
    rewrite unsnoc_app.
    assert (L : length (zip prev (bwd n (eval g x d) d s)) = length x + length g)
      by (rewrite zip_length; lia).
    rewrite firstn_app. replace (length x - length _) with 0
      by (rewrite back_all_length by exact L; lia).
    simpl; rewrite app_nil_r, IH by auto.
    rewrite total_zip by (rewrite Wn, eval_length; lia).
    rewrite total_app, Cn. simpl. now rewrite add_zero.
Qed.
End Conservation.

(* ---- skipping unreached nodes ------------------------------------------- *)
(* The loop that starts from empty slots and runs a rule only when its slot was
   reached agrees with the dense one as soon as a zero input makes every rule
   answer with zeros.  Where that fails (0 * (1/0) on machine floats) the two
   genuinely differ, so the premise is worth checking at run time.            *)
Section Skipping.
Variable zero : A.
Hypothesis zero_l : forall a, add zero a = a.
Hypothesis zero_r : forall a, add a zero = a.

Definition fillz (o : option A) : A := match o with Some a => a | None => zero end.

Fixpoint put (l : list (option A)) (p : nat) (b : A) : list (option A) :=
  match l, p with
  | [], _ => []
  | o :: l', O => Some (match o with Some a => add a b | None => b end) :: l'
  | o :: l', S q => o :: put l' q b
  end.

Definition step_skip (t : list cell) (acc : list (option A)) (id : nat) : list (option A) :=
  match nth_error t id, nth_error acc id with
  | Some c, Some (Some s) => fold_left (fun a pc => put a (fst pc) (snd pc)) (emit c s) acc
  | _, _ => acc
  end.

Fixpoint loop_skip (t : list cell) (k : nat) (acc : list (option A)) : list (option A) :=
  match k with O => acc | S m => loop_skip t m (step_skip t acc m) end.

Definition zero_preserving (c : cell) := forall p b, In (p, b) (emit c zero) -> b = zero.

Lemma put_fillz l : forall p b, map fillz (put l p b) = add_at (map fillz l) p b.
Proof.
  induction l as [|o l IH]; intros [|p] b; simpl; auto.
  - destruct o; simpl; now rewrite ?zero_l.
  - now rewrite IH.
Qed.

Lemma puts_fillz cs : forall acc,
  map fillz (fold_left (fun a pc => put a (fst pc) (snd pc)) cs acc) = scatter (map fillz acc) cs.
Proof. induction cs as [|[p b] cs IH]; simpl; intros acc; auto. now rewrite IH, put_fillz. Qed.

Lemma add_at_zero l : forall p, add_at l p zero = l.
Proof. induction l as [|a l IH]; intros [|p]; simpl; auto; [now rewrite zero_r | now rewrite IH]. Qed.

Lemma scatter_zero cs : forall l, (forall p b, In (p, b) cs -> b = zero) -> scatter l cs = l.
Proof.
  induction cs as [|[p b] cs IH]; simpl; intros l H; auto.
  rewrite (H p b) by now left. rewrite add_at_zero. apply IH. intros q e Hq. eapply H; right; eauto.
Qed.

Theorem skipping_is_sound t : Forall zero_preserving t ->
  forall k acc, map fillz (loop_skip t k acc) = loop t k (map fillz acc).
Proof.
  intros Z k. induction k as [|k IH]; simpl; intros acc; auto.
  rewrite IH. f_equal. unfold step_skip, step. rewrite nth_error_map.
  destruct (nth_error t k) as [c|] eqn:Et; auto.
  destruct (nth_error acc k) as [[s|]|] eqn:Ea; simpl; auto.
  - apply puts_fillz.
  - rewrite scatter_zero; auto. intros p b Hin.
    apply (proj1 (Forall_forall _ _) Z c (nth_error_In _ _ Et) p b Hin).
Qed.
End Skipping.

(* ---- the recursion is the transpose of forward mode ---------------------- *)
Section Adjoint.
Variable zero : A.
Variable mul : A -> A -> A.
Hypothesis add_comm  : forall a b, add a b = add b a.
Hypothesis add_assoc : forall a b c, add a (add b c) = add (add a b) c.
Hypothesis add_zero  : forall a, add a zero = a.
Hypothesis mul_add   : forall a b c, mul a (add b c) = add (mul a b) (mul a c).

Variable jvp : node -> list A -> list A -> D -> A.

Fixpoint dot (u v : list A) : A :=
  match u, v with a :: u', b :: v' => add (mul a b) (dot u' v') | _, _ => zero end.

Definition locally_adjoint (n : node) := forall c dc d s, length dc = length c ->
  mul (jvp n c dc d) s = dot dc (bwd n c d s).

Fixpoint tangents (g : list node) (x dx : list A) (d : D) : list A :=
  match g with
  | [] => dx
  | n :: g' => let dc := tangents g' x dx d in dc ++ [jvp n (eval g' x d) dc d]
  end.

Lemma tangents_length g x dx d : length dx = length x ->
  length (tangents g x dx d) = length x + length g.
Proof. intro H. induction g as [|n g IH]; simpl; [lia|]. rewrite app_length, IH; simpl; lia. Qed.

Lemma dot_snoc u : forall v a b, length u = length v ->
  dot (u ++ [a]) (v ++ [b]) = add (dot u v) (mul a b).
Proof.
  induction u as [|p u IH]; intros [|q v] a b H; simpl in *; try discriminate.
  - apply add_comm.
  - rewrite IH by lia. apply add_assoc.
Qed.

Lemma dot_zip u : forall v w, length u = length v -> length v = length w ->
  dot u (zip v w) = add (dot u v) (dot u w).
Proof.
  induction u as [|p u IH]; intros [|q v] [|r w] H1 H2; simpl in *; try discriminate.
  - now rewrite add_zero.
  - rewrite mul_add, IH by lia. rewrite <- !add_assoc. f_equal.
    rewrite !add_assoc. f_equal. apply add_comm.
Qed.

Theorem recursion_is_adjoint g x dx d : Forall wf g -> Forall locally_adjoint g ->
  length dx = length x -> forall seed, length seed = length x + length g ->
  dot (tangents g x dx d) seed = dot dx (firstn (length x) (back_all g x d seed)).
Proof.
  intros W L Hx. induction g as [|n g IH]; simpl; intros seed H.
  - rewrite Nat.add_0_r in H. now rewrite <- H, firstn_all.
  - inversion W as [|? ? Wn Wg]; inversion L as [|? ? Ln Lg]; subst.
    rewrite Nat.add_succ_r in H. destruct (split_last _ _ H) as [prev [s [-> Hp]]].
    rewrite unsnoc_app.
    pose proof (tangents_length g x dx d Hx) as Ht. pose proof (eval_length g x d) as He.
    rewrite dot_snoc by lia. rewrite Ln by lia.
    rewrite <- dot_zip by (rewrite ?Wn; lia).
    assert (Lz : length (zip prev (bwd n (eval g x d) d s)) = length x + length g)
      by (rewrite zip_length; lia).
    rewrite IH by auto. f_equal. rewrite firstn_app.
    replace (length x - length _) with 0 by (rewrite back_all_length by exact Lz; lia).
    simpl. now rewrite app_nil_r.
Qed.
End Adjoint.
End Tape.

Print Assumptions dense_loop_eq_recursion.
Print Assumptions leaves_hold_total.
Print Assumptions skipping_is_sound.
Print Assumptions recursion_is_adjoint.

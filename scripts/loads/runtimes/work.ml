(* SPDX-License-Identifier: GPL-2.0 *)
(* work MILLISECONDS: busy at the bottom of a recursion *)
let rec numbers n seed =
  if n = 0 then []
  else
    let next = ((seed * 1103515245) + 12345) land 0xffffffff in
    next :: numbers (n - 1) next

let work seed =
  let sorted = List.sort compare (numbers 300 seed) in
  let text = String.concat "," (List.map string_of_int sorted) in
  ignore (Digest.string text);
  ignore (Printf.sprintf "%f" (float_of_int (List.hd sorted)));
  Hashtbl.hash text

let rec walk n seed =
  if n = 0 then work seed
  else 1 + List.fold_left (fun _ m -> walk m seed) 0 [ n - 1 ]

let () =
  let stop = Sys.time () +. (float_of_string Sys.argv.(1) /. 1000.) in
  let seed = ref 1 in
  while Sys.time () < stop do
    seed := walk 10 !seed
  done

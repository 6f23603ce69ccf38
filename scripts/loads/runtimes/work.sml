fun numbers (0, _) = []
  | numbers (n, seed) = let val next = (seed * 1103 + 12345) mod 65536 in next :: numbers (n - 1, next) end
fun insert (x, []) = [x] | insert (x, y :: ys) = if x < y then x :: y :: ys else y :: insert (x, ys)
fun sort l = foldl insert [] l
fun work seed = foldl (fn (n, s) => s + String.size (Int.toString n)) 0 (sort (numbers (100, seed)))
fun odd (0, seed) = work seed | odd (n, seed) = even (n - 1, seed) + 1
and even (0, seed) = work seed | even (n, seed) = odd (n - 1, seed) + 2
fun main ms = let val stop = Time.+ (Time.now (), Time.fromMilliseconds ms)
  fun loop seed = if Time.< (Time.now (), stop) then loop (odd (30, seed)) else () in loop 1 end;
main (valOf (IntInf.fromString (List.last (CommandLine.arguments ()))));

;; SPDX-License-Identifier: GPL-2.0
;; guile --no-auto-compile work.scm MILLISECONDS: busy at the bottom of a recursion
(define (numbers n seed)
  (if (= n 0)
      '()
      (let ((next (logand (+ (* seed 1103515245) 12345) #xffffffff)))
        (cons next (numbers (- n 1) next)))))

(define (work seed)
  (let ((sorted (sort (numbers 300 seed) (lambda (a b) (< a b)))))
    (string-length (string-join (map number->string sorted) ","))
    (car sorted)))

(define (walk n seed)
  (if (= n 0) (work seed) (+ 1 (apply max (map (lambda (m) (walk m seed)) (list (- n 1)))))))

(define stop
  (+ (get-internal-real-time)
     (quotient (* (string->number (cadr (command-line))) internal-time-units-per-second) 1000)))

(let loop ((seed 1))
  (if (< (get-internal-real-time) stop)
      (loop (walk 10 seed))))

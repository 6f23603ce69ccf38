;; SPDX-License-Identifier: GPL-2.0
;; sbcl --script work.lisp MILLISECONDS, or with clisp or ecl --shell: busy at the bottom of a
;; recursion
(declaim (notinline work walk))

(defun work (seed)
  (let ((numbers (make-array 300)))
    (dotimes (i 300)
      (setf seed (logand (+ (* seed 1103515245) 12345) #xffffffff))
      (setf (aref numbers i) seed))
    (setf numbers (sort numbers (lambda (a b) (< a b))))
    (length (format nil "~{~a,~}" (coerce (subseq numbers 0 20) 'list)))
    (aref numbers 0)))

(defun walk (n seed)
  (if (= n 0) (work seed) (1+ (reduce #'max (list (walk (1- n) seed) 0)))))

(let ((stop (+ (get-internal-real-time)
               (* (parse-integer (car (last #+sbcl sb-ext:*posix-argv* #+clisp ext:*args*
                                           #+ecl (ext:command-args))))
                  (/ internal-time-units-per-second 1000))))
      (seed 1))
  (loop while (< (get-internal-real-time) stop)
        do (setf seed (walk 10 seed))))

      *> SPDX-License-Identifier: GPL-2.0
      *> work MILLISECONDS: busy at the bottom of a chain of calls
       IDENTIFICATION DIVISION.
       PROGRAM-ID. work.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 SPAN PIC X(9).
       01 BEGUN PIC 9(9).
       01 SPENT PIC S9(9) VALUE 0.
       PROCEDURE DIVISION.
           ACCEPT SPAN FROM ARGUMENT-VALUE.
           COMPUTE BEGUN = FUNCTION SECONDS-PAST-MIDNIGHT.
           PERFORM UNTIL SPENT * 1000 >= FUNCTION NUMVAL(SPAN)
             CALL "busy"
             COMPUTE SPENT = FUNCTION MOD(
               FUNCTION SECONDS-PAST-MIDNIGHT - BEGUN, 86400)
           END-PERFORM.
           STOP RUN.
       END PROGRAM work.

       IDENTIFICATION DIVISION.
       PROGRAM-ID. busy.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 I PIC 9(4).
       01 X PIC S9(9)V9(9) COMP-3.
       01 T PIC Z(8)9.9(6).
       01 N PIC 9(9).
       PROCEDURE DIVISION.
           PERFORM VARYING I FROM 1 BY 1 UNTIL I > 300
             COMPUTE X ROUNDED = I / 7 + FUNCTION SQRT(I)
             MOVE X TO T
             MOVE 0 TO N
             INSPECT T TALLYING N FOR ALL "1"
           END-PERFORM.
           GOBACK.
       END PROGRAM busy.

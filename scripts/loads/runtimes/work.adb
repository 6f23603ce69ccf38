-- SPDX-License-Identifier: GPL-2.0
-- work MILLISECONDS: busy at the bottom of a chain of calls
with Ada.Calendar; use Ada.Calendar;
with Ada.Command_Line;
with Ada.Strings.Fixed;

procedure Work is
   Stop : constant Time := Clock + Duration'Value (Ada.Command_Line.Argument (1)) / 1000;
   Sum : Natural := 0;

   procedure Busy is
   begin
      for I in 1 .. 300 loop
         Sum := Ada.Strings.Fixed.Count (Float'Image (Float (I) / 7.0), "1");
      end loop;
      raise Constraint_Error;
   exception
      when Constraint_Error => Sum := Sum + 1;
   end Busy;

   procedure Two is
   begin
      while Clock < Stop loop
         Busy;
      end loop;
   end Two;

   procedure One is
   begin
      Two;
   end One;
begin
   One;
end Work;

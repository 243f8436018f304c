-- A small shop. REPLICA IDENTITY FULL lets every change carry the whole row before it, which a changelog needs.
CREATE TABLE customers (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  city text
);
CREATE TABLE orders (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  customer_id bigint NOT NULL REFERENCES customers,
  amount numeric(12,2) NOT NULL,
  status text NOT NULL DEFAULT 'new',
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE customers REPLICA IDENTITY FULL;
ALTER TABLE orders REPLICA IDENTITY FULL;
INSERT INTO customers (name, city) VALUES ('Anna', 'Bergen'), ('Bo', 'Porto'), ('Cleo', NULL);
INSERT INTO orders (customer_id, amount) VALUES (1, 100.00), (2, 20.50), (1, 3.75);

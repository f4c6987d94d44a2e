import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../src/cart.js';

const cart = [
  { name: 'bread', price: 350, quantity: 2 },
  { name: 'milk', price: 120, quantity: 3 },
];

test('adds up prices and quantities', () => {
  assert.equal(total(cart), 1060);
});

test('takes a discount in percent', () => {
  assert.equal(total(cart, 10), 954);
});

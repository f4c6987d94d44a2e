/** The price of a cart in cents, less a discount in percent. */
export function total(items, discountPercent = 0) {
  const sum = items.reduce((all, item) => all + item.price * item.quantity, 0);
  // TODO: round halves up
  return sum - discountPercent;
}

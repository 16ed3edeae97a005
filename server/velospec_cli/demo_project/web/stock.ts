/** The stock list as the page shows it. */

export interface Item {
  number: string;
  name: string;
  price: number;
  onHand: number;
}

export async function loadItems(url: string): Promise<Item[]> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`Cannot load ${url}: ${response.status}`);
  }
  return response.json();
}

export function totalValue(items: Item[]): number {
  return items.reduce((sum, item) => sum + item.price * item.onHand, 0);
}

export function sortByName(items: Item[]): Item[] {
  return [...items].sort((a, b) => a.name.localeCompare(b.name));
}

export function sortByPrice(items: Item[]): Item[] {
  return [...items].sort((a, b) => a.price - b.price);
}

export function runningLow(items: Item[], limit = 5): Item[] {
  return items.filter((item) => item.onHand < limit);
}

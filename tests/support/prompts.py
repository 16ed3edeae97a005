"""Twenty code prompts for tests and benchmarks: unfinished files in several languages, written for this."""

from __future__ import annotations

from typing import NamedTuple


class CodePrompt(NamedTuple):
    name: str
    text: str


PROMPTS: tuple[CodePrompt, ...] = (
    CodePrompt(
        "python-account",
        '''class Account:
    """A bank account that keeps its history."""

    def __init__(self, owner: str, balance: int = 0) -> None:
        self.owner = owner
        self.balance = balance
        self.history: list[tuple[str, int]] = []

    def deposit(self, amount: int) -> None:
        """Add money to the account."""
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount: int) -> None:
        """Take money from the account."""
        if amount''',
    ),
    CodePrompt(
        "python-matrix",
        '''def add(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """The sum of two matrices of the same shape."""
    return [[x + y for x, y in zip(row_a, row_b)] for row_a, row_b in zip(a, b)]


def subtract(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """The difference of two matrices of the same shape."""
    return [[x - y for x, y in zip(row_a, row_b)] for row_a, row_b in zip(a, b)]


def multiply(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """The product of two matrices."""
    return [[''',
    ),
    CodePrompt(
        "python-tests",
        """import pytest

from textkit import slugify


def test_lower_case():
    assert slugify("Hello") == "hello"


def test_spaces_become_hyphens():
    assert slugify("hello world") == "hello-world"


def test_punctuation_is_dropped():
    assert slugify("hello, world!") == "hello-world"


def test_""",
    ),
    CodePrompt(
        "python-argparse",
        '''import argparse


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Resize pictures in a folder.")
    parser.add_argument("folder", help="folder with the pictures")
    parser.add_argument("--width", type=int, default=800, help="new width in pixels")
    parser.add_argument("--height", type=int, default=600, help="new height in pixels")
    parser.add_argument("--quality", type=int, default=85, help="JPEG quality, 1 to 100")
    parser.add_argument(''',
    ),
    CodePrompt(
        "python-heap",
        '''class MinHeap:
    """A binary heap with the smallest item on top."""

    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        self._sift_up(len(self.items) - 1)

    def pop(self):
        top = self.items[0]
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            self._sift_down(0)
        return top

    def _sift_up(self, index):
        parent = (index - 1) // 2
        while index > 0 and self.items[index] < self.items[parent]:
            self.items[index], self.items[parent] = self.items[parent], self.items[index]
            index = parent
            parent = (index - 1) // 2

    def _sift_down(self, index):
        smallest =''',
    ),
    CodePrompt(
        "python-fizzbuzz",
        """# Print the numbers from 1 to 100, with Fizz for multiples of three and Buzz for multiples of five.
def fizzbuzz(n):
    for""",
    ),
    CodePrompt(
        "javascript-store",
        """export function createStore(reducer, initialState) {
  let state = initialState;
  const listeners = new Set();

  function getState() {
    return state;
  }

  function dispatch(action) {
    state = reducer(state, action);
    listeners.forEach((listener) => listener(state));
    return action;
  }

  function subscribe(listener) {
    listeners.add(listener);
    return""",
    ),
    CodePrompt(
        "javascript-router",
        """const express = require("express");
const { books } = require("./database");

const router = express.Router();

router.get("/books", async (request, response) => {
  const all = await books.findAll();
  response.json(all);
});

router.get("/books/:id", async (request, response) => {
  const book = await books.findById(request.params.id);
  if (!book) {
    return response.status(404).json({ error: "Book not found" });
  }
  response.json(book);
});

router.post("/books", async (request, response) => {
  const book =""",
    ),
    CodePrompt(
        "typescript-shapes",
        """interface Shape {
  area(): number;
  perimeter(): number;
}

class Rectangle implements Shape {
  constructor(private readonly width: number, private readonly height: number) {}

  area(): number {
    return this.width * this.height;
  }

  perimeter(): number {
    return 2 * (this.width + this.height);
  }
}

class Circle implements Shape {
  constructor(""",
    ),
    CodePrompt(
        "go-handler",
        """package main

import (
	"encoding/json"
	"net/http"
)

type User struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

var users = map[int]User{}

func listUsers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(users)
}

func createUser(w http.ResponseWriter, r *http.Request) {
	var""",
    ),
    CodePrompt(
        "go-stack",
        """package stack

// Stack is a last-in, first-out list of integers.
type Stack struct {
	items []int
}

// Push puts an item on top.
func (s *Stack) Push(item int) {
	s.items = append(s.items, item)
}

// Pop takes the top item off; ok is false if there is none.
func (s *Stack) Pop() (item int, ok bool) {
	if""",
    ),
    CodePrompt(
        "rust-point",
        """use std::ops::Add;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    pub fn distance(&self, other: &Point) -> f64 {
        let dx = self.x - other.x;
        let dy = self.y - other.y;
        (dx * dx + dy * dy).sqrt()
    }
}

impl Add for Point {
    type""",
    ),
    CodePrompt(
        "rust-parse",
        """#[derive(Debug)]
enum Token {
    Number(f64),
    Plus,
    Minus,
    Star,
    Slash,
}

fn tokenize(input: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = input.chars().peekable();
    while let Some(&c) = chars.peek() {
        match c {
            '+' => {
                tokens.push(Token::Plus);
                chars.next();
            }
            '-' => {
                tokens.""",
    ),
    CodePrompt(
        "java-list",
        """public class LinkedList<T> {
    private static class Node<T> {
        T value;
        Node<T> next;

        Node(T value) {
            this.value = value;
        }
    }

    private Node<T> head;
    private int size;

    public void addFirst(T value) {
        Node<T> node = new Node<>(value);
        node.next = head;
        head = node;
        size++;
    }

    public void addLast(T value) {
        Node<T>""",
    ),
    CodePrompt(
        "c-string",
        """#include <stddef.h>

/* The length of a string. */
size_t string_length(const char *s)
{
    size_t n = 0;
    while (s[n] != '\\0') {
        n++;
    }
    return n;
}

/* Copy a string, its end included; returns the target. */
char *string_copy(char *target, const char *source)
{
    size_t""",
    ),
    CodePrompt(
        "sql-schema",
        """CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    price NUMERIC NOT NULL CHECK (price >= 0),
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE orders (
    id""",
    ),
    CodePrompt(
        "json-users",
        """[
  {"id": 1, "name": "Ada Lovelace", "email": "ada@example.org", "active": true, "roles": ["admin", "author"]},
  {"id": 2, "name": "Alan Turing", "email": "alan@example.org", "active": true, "roles": ["author"]},
  {"id": 3, "name": "Grace Hopper", "email": "grace@example.org", "active": false, "roles": ["editor"]},
  {"id": 4,""",
    ),
    CodePrompt(
        "html-form",
        """<form action="/register" method="post">
  <label for="first-name">First name</label>
  <input type="text" id="first-name" name="first-name" required>

  <label for="last-name">Last name</label>
  <input type="text" id="last-name" name="last-name" required>

  <label for="email">""",
    ),
    CodePrompt(
        "css-buttons",
        """.button {
  display: inline-block;
  padding: 0.5rem 1rem;
  border: none;
  border-radius: 4px;
  cursor: pointer;
}

.button-primary {
  background-color: #0066cc;
  color: white;
}

.button-primary:hover {
  background-color: #0052a3;
}

.button-danger {
  background-""",
    ),
    CodePrompt(
        "bash-backup",
        """#!/usr/bin/env bash
set -euo pipefail

source_folder="$1"
target_folder="$2"

if [ ! -d "$source_folder" ]; then
    echo "No such folder: $source_folder" >&2
    exit 1
fi

if [ ! -d "$target_folder" ]; then
    mkdir""",
    ),
)
